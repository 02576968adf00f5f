import { afterEach, describe, expect, it, vi } from 'vitest';
import { newId } from '../../../src/ids.ts';
import { NO_CONTENT } from '../../../src/mail/mail.ts';
import { ComparedContent, recentContents } from '../../../src/mail/matching/compared-content.ts';
import { everything, inboxAt, mailTo, onlyPlaced, reread, T } from '../../store/builders.ts';
import { openTemporary } from '../../store/sqlite/open-sqlite.ts';

const page = (htmlWords: string) => new ComparedContent({ ...NO_CONTENT, htmlWords });
const plain = (text: string) => new ComparedContent({ ...NO_CONTENT, text });
const encoder = new TextEncoder();

afterEach(() => vi.restoreAllMocks());

/** Texts of more than a thousand characters that were normalized since, which is the first step of folding. */
function countFolded(): () => number {
  const { normalize } = String.prototype;
  let count = 0;
  vi.spyOn(String.prototype, 'normalize').mockImplementation(function (this: string, form?: string) {
    if (this.length > 1_000) count++;
    return normalize.call(this, form);
  });
  return () => count;
}

describe('the text of a message', () => {
  it('is folded once, however many waits and searches compare it with words of their own', async () => {
    const on = await openTemporary({ isDurable: false });
    const owner = newId('acc', T);
    await on.store.accounts.create({ id: owner, name: 'a', plan: 'free', createdAt: T }, null);
    const { inbox } = await on.store.inboxes.create(owner, inboxAt(), 10, null);
    const mail = mailTo([inbox], {});
    const stored = JSON.parse(new TextDecoder().decode(mail.reading.content));
    const content = { ...stored, text: 'Hello world. '.repeat(500) };
    const MAILS = 5;
    for (let n = 0; n < MAILS; n++) {
      const read = reread(mail, { content: encoder.encode(JSON.stringify(content)) });
      await onlyPlaced(on.store, read, T);
    }
    const folded = countFolded();
    const range = { ...everything, limit: 1, order: 'oldest-first' } as const;
    for (let n = 0; n < 20; n++) {
      const checked = await on.store.messages.check(inbox.id, { text: `world ${n}` }, range, T);
      expect(checked.messages).toHaveLength(MAILS);
      const conditions = [{ field: 'text', text: `world. — ${n}` } as const];
      const searched = await on.store.messages.search({ accountId: owner }, conditions, everything, T);
      expect(searched.messages).toHaveLength(0);
    }
    // Twice each: before and after the case is folded.
    expect(folded()).toBeLessThanOrEqual(2 * MAILS);
    await on.close();
  });

  it('of a page is found with and without the characters that have no width in the words of the condition', () => {
    // Words of an HTML page are stored without them.
    expect(page('می‌خواهم'.replaceAll('\u200c', '')).hasText('می\u200cخواهم')).toBe(true);
    expect(page('Confirm').hasText('Con\u00adfirm')).toBe(true);
    // A text part is compared as it was sent.
    expect(plain('Con\u00adfirm').hasText('con\u00adfirm')).toBe(true);
    expect(plain('Confirm').hasText('Con\u00adfirm')).toBe(false);
  });

  it('has letters with many marks, in whatever order these are', () => {
    const marks = '\u0301\u0323'.repeat(14);
    const ordered = `${'\u0323'.repeat(14)}${'\u0301'.repeat(14)}`;
    expect(plain(`x a${marks} y`).hasText(`A${ordered} Y`)).toBe(true);
  });

  it('is compared in links by their target and words, whatever their case', () => {
    const href = 'https://Shop.example/Verify?t=1';
    const link = { href, text: 'Confirm – now', kind: 'verify' } as const;
    const content = new ComparedContent({ ...NO_CONTENT, links: [link] });
    const same = { href: 'shop.example/verify', text: 'CONFIRM - NOW', kind: 'verify' } as const;
    expect(content.hasLink(same)).toBe(true);
    expect(content.hasLink({ kind: 'reset' })).toBe(false);
    expect(content.hasLink({ href: 'other' })).toBe(false);
  });
});

describe('the contents compared last', () => {
  it('stay within a number of characters, and those not used for longest go first', () => {
    const recent = recentContents();
    const quarter = 'x'.repeat(2 * 1024 * 1024);
    for (const id of ['a', 'b', 'c', 'd']) recent.set(id, plain(quarter));
    expect(recent.get('a')).toBeDefined();
    recent.set('e', plain(quarter));
    expect(['a', 'b', 'c', 'd', 'e'].filter((id) => recent.get(id))).toEqual(['a', 'c', 'd', 'e']);
    recent.set('too large', plain('x'.repeat(9 * 1024 * 1024)));
    expect(recent.get('too large')).toBeUndefined();
    expect(recent.get('e')).toBeDefined();
  });
});
