import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { MailAddress } from '@mayfly/client/contract';
import { describe, expect, it } from 'vitest';
import { read } from '../support/mails.ts';

const cases = (file: string) => JSON.parse(readFileSync(join(import.meta.dirname, file), 'utf8'));

/** By subject: what a mail shows, its lines with one byte a character, and what is read of it, among other things. */
const READINGS: Record<string, [title: string, lines: string[], read: object][]> = cases('readings.json');

describe.each(Object.entries(READINGS))('%s', (_, rows) => {
  it.each(rows)('%s', (_title, lines, expected) => {
    expect(read(...lines)).toMatchObject(expected);
  });
});

/** Values of an address field, and the mailboxes that it names. */
const MAILBOXES: [title: string, value: string, mailboxes: MailAddress[]][] = cases('mailboxes.json');

describe('people of a field', () => {
  it.each(MAILBOXES)('have name and address in every field: %s', (_, value, expected) => {
    const fields = ['From', 'To', 'Cc', 'Bcc', 'Reply-To', 'Sender'].map((name) => `${name}: ${value}`);
    const { summary, content } = read(...fields, '', 'x', '');
    const from = expected[0] ?? null;
    expect([summary.from, summary.to, summary.cc]).toEqual([from, expected, expected]);
    expect([content.sender, content.bcc, content.replyTo]).toEqual([from, expected, expected]);
  });
});
