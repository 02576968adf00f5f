import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { Attachment, MailAddress, Message } from '@mayfly/client/contract';
import { describe, expect, it } from 'vitest';
import * as limits from '../../src/mail/limits.ts';
import { parseMail } from '../../src/mail/parse.ts';
import * as stored from '../../src/mail/stored-content.ts';
import { BOMBS } from './bombs.ts';

/** A summary with every field at its bound, in letters of three bytes, takes less. */
const MAX_SUMMARY_BYTES = 64 * 1024;

/** A schema as the OpenAPI document has it. */
const plain = (schema: unknown) => JSON.parse(JSON.stringify(schema));

const source = (...lines: string[]) => Buffer.from([...lines, '', 'text', ''].join('\r\n'));
const long = (character: string) => character.repeat(50_000);

describe('every field of a message has a bound', () => {
  it('a subject is cut; the header has all of it', () => {
    const { summary, content, parseError } = parseMail(source(`Subject: ${long('s')}`));
    expect(summary.subject).toBe('s'.repeat(limits.MAX_SUBJECT));
    expect(content.headers).toEqual([{ name: 'Subject', value: long('s') }]);
    expect(parseError).toBeNull();
  });

  it('a subject is never cut within a character', () => {
    const { summary } = parseMail(source(`Subject: x${'😀'.repeat(1_000)}`));
    expect(summary.subject.isWellFormed()).toBe(true);
  });

  it('a display name and an address are cut', () => {
    const { summary } = parseMail(source(`From: ${long('n')} <${long('a')}@b.test>`));
    expect(summary.from).toEqual({
      name: 'n'.repeat(limits.MAX_MAILBOX_NAME),
      address: 'a'.repeat(limits.MAX_MAILBOX_ADDRESS),
    });
  });

  it('a list of mailboxes ends at 100, over all fields of its name, and parseError says so', () => {
    const { summary, parseError } = parseMail(source(...Array.from({ length: 300 }, () => 'To: a@b.test')));
    expect(summary.to).toHaveLength(limits.MAX_MAILBOXES);
    expect(parseError).toContain(`"to" names more than ${limits.MAX_MAILBOXES} mailboxes`);
  });

  it('a list of long mailboxes ends earlier', () => {
    const { summary } = parseMail(source(`Cc: ${`${'n'.repeat(200)} <a@b.test>, `.repeat(100)}`));
    const characters = summary.cc.reduce((sum, { name, address }) => sum + name.length + address.length, 0);
    expect(characters).toBeLessThanOrEqual(limits.MAX_MAILBOX_CHARACTERS);
    expect(summary.cc.length).toBeGreaterThan(30);
  });

  it('ids are cut', () => {
    const { content } = parseMail(
      source(`Message-ID: <${long('m')}>`, `In-Reply-To: <${long('i')}>`, `References: <${long('r')}>`),
    );
    for (const id of [content.rfcMessageId, content.inReplyTo, content.references[0]])
      expect(id).toHaveLength(limits.MAX_ID);
  });

  it('a file name, a content id and a parameter are cut', () => {
    const lines = [`name="${long('n')}"`, `x="${long('x')}"`].join(';\r\n ');
    const { content } = parseMail(source(`Content-Type: a/b; ${lines}`, `Content-ID: <${long('c')}>`));
    const [file] = content.attachments;
    expect(file?.filename).toHaveLength(limits.MAX_FILENAME);
    expect(file?.contentId).toHaveLength(limits.MAX_ID);
    for (const value of Object.values(file?.parameters ?? {}))
      expect(value.length).toBeLessThanOrEqual(limits.MAX_PARAMETER_VALUE);
  });

  it.each(BOMBS)('the summary of $name is small', ({ mail }) => {
    const { summary } = parseMail(mail(300_000));
    expect(Buffer.byteLength(JSON.stringify(summary))).toBeLessThan(MAX_SUMMARY_BYTES);
  });

  it('the contract tells the same bounds', () => {
    const { subject, preview, to, cc, replyTo, rfcMessageId, references } = plain(Message).properties;
    expect(subject.maxLength).toBe(limits.MAX_SUBJECT);
    expect(preview.maxLength).toBe(limits.MAX_PREVIEW);
    for (const list of [to, cc, replyTo]) expect(list.maxItems).toBe(limits.MAX_MAILBOXES);
    expect(rfcMessageId.anyOf[0].maxLength).toBe(limits.MAX_ID);
    expect(references.items.maxLength).toBe(limits.MAX_ID);
    const { address, name } = plain(MailAddress).properties;
    expect(address.maxLength).toBe(limits.MAX_MAILBOX_ADDRESS);
    expect(name.maxLength).toBe(limits.MAX_MAILBOX_NAME);
    const { filename, contentId, parameters } = plain(Attachment).properties;
    expect(filename.anyOf[0].maxLength).toBe(limits.MAX_FILENAME);
    expect(contentId.anyOf[0].maxLength).toBe(limits.MAX_ID);
    expect(parameters.patternProperties['^.*$'].maxLength).toBe(limits.MAX_PARAMETER_VALUE);
  });
});

const CORPORA = '../shared/corpora';

/** Bytes that are stored of a mail: its raw source, its summary and its content. */
function storedBytes(source: Buffer): number {
  const mail = parseMail(source);
  const summary = Buffer.byteLength(JSON.stringify(mail.summary));
  return source.length + summary + Buffer.byteLength(stored.contentJson(mail, source.length, summary));
}

const most = (rawBytes: number) => (1 + stored.MAX_STORED_RATIO) * rawBytes + stored.STORED_ALLOWANCE_BYTES;

describe('what is stored of a mail can be read back', () => {
  it.each(BOMBS)('$name', async ({ mail }) => {
    const source = mail(20_000);
    const parsed = parseMail(source);
    const json = JSON.parse(stored.contentJson(parsed, source.length));
    const { content } = await stored.readContent(json, source);
    // The words are only for filters, and may be cut or less exact.
    expect({ ...content, htmlWords: null }).toEqual({ ...parsed.content, htmlWords: null });
  });
});

describe('a mail takes at most three times the bytes of its raw source, and 32 KiB for tables', () => {
  it.each(BOMBS)('$name', ({ mail }) => {
    for (const bytes of [5_000, 50_000]) {
      const source = mail(bytes);
      expect(storedBytes(source)).toBeLessThanOrEqual(most(source.length));
    }
  });

  it('a table of parts that is larger than the mail', () => {
    const parts = '--b\r\nContent-Type: a/b\r\n\r\nx\r\n'.repeat(1_000);
    const source = Buffer.from(`Content-Type: multipart/mixed; boundary=b\r\n\r\n${parts}`);
    expect(storedBytes(source)).toBeLessThanOrEqual(most(source.length));
  });

  it.skipIf(!existsSync(CORPORA))('every mail of the corpora (skipped without them)', () => {
    const files = readdirSync(CORPORA, { recursive: true, encoding: 'utf8' }).filter((name) =>
      /^(?:cpython-test-email|cutiemail-torture|mime4j)\/.*\.(?:eml|msg|txt)$/.test(name),
    );
    expect(files.length).toBeGreaterThan(100);
    for (const file of files) {
      const source = readFileSync(`${CORPORA}/${file}`);
      expect([file, storedBytes(source) <= most(source.length)]).toEqual([file, true]);
    }
  });
});
