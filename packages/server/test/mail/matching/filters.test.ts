import { describe, expect, it } from 'vitest';
import { NO_CONTENT } from '../../../src/mail/mail.ts';
import { ComparedContent } from '../../../src/mail/matching/compared-content.ts';
import { type Filters, failedConditions, type MessageHead } from '../../../src/mail/matching/filters.ts';
import { SILENT_SUMMARY } from '../../support/mail/silent-mail.ts';

const MESSAGE: MessageHead = {
  rcptTo: ['Ada+signup@mayfly.test'],
  summary: {
    ...SILENT_SUMMARY,
    from: { address: 'no-reply@shop.example', name: 'Müller & Söhne' },
    to: [{ address: 'ada@mayfly.test', name: 'Ada' }],
    cc: [{ address: 'bob@mayfly.test', name: '' }],
    subject: 'Bitte BESTÄTIGEN: Caf\u00e9',
    preview: 'Your code is 482913',
    attachmentCount: 1,
  },
};
const CONTENT = new ComparedContent({ ...NO_CONTENT, htmlWords: 'You’re in – now your code is 482913' });
const failed = (filters: Filters) => failedConditions(MESSAGE, filters, CONTENT);

describe('filters', () => {
  it.each<Filters>([
    {},
    { from: 'NO-REPLY@' },
    { from: 'mÜLLER' },
    { to: 'ada@' },
    { to: 'bob' },
    { to: 'ada+signup' },
    { subject: 'bestätigen' },
    { subject: 'CAFE\u0301' },
    { text: 'CODE IS 482913' },
    { text: "you're in - now" },
    { hasAttachments: true },
    { from: 'shop', to: 'ada', subject: 'bitte', text: 'code', hasAttachments: true },
  ])('%j matches, whatever the case and the composition of letters', (filters) => {
    expect(failed(filters)).toEqual([]);
  });

  it('find a subject with and without each character that has no width', () => {
    const different: string[] = [];
    for (let code = 0; code <= 0x10ffff; code++) {
      const unseen = String.fromCodePoint(code);
      if (!/^[\p{Default_Ignorable_Code_Point}--\p{Variation_Selector}]$/v.test(unseen)) continue;
      const subject = `Your c${unseen}ode`;
      const message = { ...MESSAGE, summary: { ...MESSAGE.summary, subject } };
      const isFound =
        failedConditions(message, { subject: 'code' }).length === 0 &&
        failedConditions(MESSAGE, { subject: `Bit${unseen}te` }).length === 0;
      if (!isFound) different.push(code.toString(16));
    }
    expect(different).toEqual([]);
  });

  it('name each condition that failed and what stood there', () => {
    const filters = { from: 'nobody', to: 'carol', subject: 'reset', text: 'link', hasAttachments: false };
    const recipients = 'Ada <ada@mayfly.test>, bob@mayfly.test, Ada+signup@mayfly.test';
    expect(failed(filters)).toEqual([
      { condition: 'from', expected: 'nobody', got: 'Müller & Söhne <no-reply@shop.example>' },
      { condition: 'to', expected: 'carol', got: recipients },
      { condition: 'subject', expected: 'reset', got: 'Bitte BESTÄTIGEN: Caf\u00e9' },
      { condition: 'hasAttachments', expected: 'false', got: 'true' },
      { condition: 'text', expected: 'link', got: 'Your code is 482913' },
    ]);
  });

  it('take a message without an author for one that nobody wrote', () => {
    const anonymous = { ...MESSAGE, summary: { ...MESSAGE.summary, from: null } };
    const failure = { condition: 'from', expected: 'a', got: '' };
    expect(failedConditions(anonymous, { from: 'a' })).toEqual([failure]);
  });
});
