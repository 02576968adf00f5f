import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { lintMail } from '../../../src/mail/lint/lint.ts';
import { crlf, header, html, multipart, part, text } from './building.ts';

const SHOP = 'Acme <hello@acme.example>';
/** Languages in turn: the subject, the sentence and the footer of a mail. */
type Words = [subject: string, html: string, footer: string];
const UNSUBSCRIBE = 'https://acme.example/u/9f8e7d';
const footer = (label: string) => `<p><small><a href="${UNSUBSCRIBE}">${label}</a></small></p>`;
const strip = (page: string) => page.replaceAll(/<[^>]*>/g, ' ');
const mail = ([subject, body, foot]: Words, ...fields: string[]) =>
  crlf([
    ...header(subject, SHOP, ...fields),
    multipart('alternative', [
      text(`${strip(body)}\n\n${foot}: ${UNSUBSCRIBE}`),
      html(`<!doctype html><html lang="en"><body>${body}${footer(foot)}</body></html>`),
    ]),
  ]);

/** Mails that one person has asked for by signing up or in, and mails that go to many, with the same footers. */
const { askedFor: ASKED_FOR, forMany: FOR_MANY }: Record<'askedFor' | 'forMany', Words[]> = JSON.parse(
  readFileSync(join(import.meta.dirname, 'bulk-mail.json'), 'utf8'),
);

const LIST_RULES = ['missing-list-unsubscribe', 'no-one-click-unsubscribe'];
const listRules = (raw: Buffer) => lintMail(raw).findings.filter(({ rule }) => LIST_RULES.includes(rule));

describe('whether a mail is bulk mail', () => {
  it.each(ASKED_FOR)('not one that a sign-up, sign-in or reset caused: %s', (...words) => {
    expect(listRules(mail(words))).toEqual([]);
  });

  it.each(FOR_MANY)('one that goes to many: %s', (...words) => {
    expect(listRules(mail(words))).toHaveLength(1);
  });

  it.each(ASKED_FOR.slice(0, 3))('one that says so of itself, whatever it asks for: %s', (...words) => {
    expect(listRules(mail(words, 'Precedence: bulk'))).toHaveLength(1);
  });
});

describe('a report of a delivery', () => {
  const report = (original: string[]) => {
    const status = 'Reporting-MTA: dns; mx.example\n\nAction: failed\nStatus: 5.1.1';
    const parts = [
      text('Your message could not be delivered.'),
      part(['Content-Type: message/delivery-status'], status),
      part(original, 'Subject: Hello\nFrom: a@acme.example'),
    ];
    return crlf([
      ...header('Undelivered Mail', 'MAILER-DAEMON@mx.example', 'Auto-Submitted: auto-replied'),
      multipart('report; report-type=delivery-status', parts),
    ]);
  };
  it.each([
    ['text/rfc822-headers; charset=us-ascii', []],
    ['Text/RFC822-Headers', []],
    ['message/rfc822', []],
    ['message/global-headers', []],
    ['application/pdf', ['attachment-without-filename']],
  ])('needs a file name for a document, not for the returned header: %s', (type, rules) => {
    const { findings } = lintMail(report([`Content-Type: ${type}`, 'Content-Disposition: attachment']));
    expect(findings.map(({ rule }) => rule)).toEqual(rules);
  });
});

describe('a rule that is broken many times', () => {
  const page = (body: string, ...attachments: string[]) => {
    const shown = `<!doctype html><html lang="en" dir="ltr"><title>Hello</title><body>${body}</body></html>`;
    const words = multipart('alternative', [text('Hello'), html(shown)]);
    return crlf([...header('Hello', SHOP), multipart('mixed', [words, ...attachments])]);
  };
  const image = (n: number) => `<img src="https://acme.example/${n}.png" width="10" height="10">`;
  const pdf = part(['Content-Type: application/pdf', 'Content-Disposition: attachment'], 'x');
  const counts = (raw: Buffer) => lintMail(raw).findings.map(({ rule, count }) => ({ rule, count }));

  it('is one finding with the number of times', () => {
    const repeated = Array.from({ length: 400 }, (_, n) => image(n)).join('');
    expect(counts(page(repeated))).toEqual([{ rule: 'image-without-alt', count: 400 }]);
    expect(counts(page(image(0)))).toEqual([{ rule: 'image-without-alt', count: 1 }]);
    expect(counts(page('Hello', pdf, pdf, pdf))).toEqual([{ rule: 'attachment-without-filename', count: 3 }]);
    const links = [1, 2, 3].map((n) => `<a href="http://acme.example/${n}">${n}</a>`).join('');
    expect(counts(page(links))).toEqual([{ rule: 'insecure-link', count: 3 }]);
  });

  it('is one finding each where several are', () => {
    const own = ['a', 'b'].map((id) => `<img src="cid:${id}" alt="" width="1" height="2">`).join('');
    expect(counts(page(`${image(1)}${image(2)}<a href="http://acme.example/">x</a>${own}`))).toEqual([
      { rule: 'broken-cid', count: 2 },
      { rule: 'image-without-alt', count: 2 },
      { rule: 'insecure-link', count: 1 },
    ]);
  });

  it('says of each feature that mail programs lack which it is', () => {
    const body =
      '<p style="position:absolute;color:var(--x)">a</p><svg></svg><p style="position:fixed">b</p>';
    const { findings } = lintMail(page(body));
    const features = findings.filter(({ rule }) => rule === 'little-client-support');
    expect(features).toHaveLength(1);
    for (const feature of ['position', 'var', 'svg'])
      expect(features[0]?.message.toLowerCase()).toContain(feature);
  });

  it('says by mail client what is not supported, and on which lines of the HTML', () => {
    const style =
      '<style>\np {\n  position: absolute; border-radius: 3px;\n}\n@supports (gap: 1px) {\n  p { gap: 1px }\n}\n</style>';
    const body = '<p style="position:fixed;width:calc(1px + 2em)">a</p>\n<svg></svg><input type="hidden">';
    const { features } = lintMail(page(`${style}\n${body}`));
    const found = new Map(features.map((one) => [one.feature, one]));
    expect(Object.fromEntries(features.map(({ feature, lines }) => [feature, lines]))).toMatchObject({
      position: [3, 9],
      'border-radius': [3],
      'CSS calc() function': [9],
      'Embedded <svg> image': [10],
    });
    expect(found.has('gap, column-gap, row-gap')).toBe(false);
    expect([...found.keys()].filter((name) => name.includes('input'))).toEqual([]);
    const { full, partial, none, share, reference } = found.get('position') ?? {};
    expect(none).toContain('Outlook (Windows)');
    expect([...(full ?? []), ...(partial ?? [])]).toContain('Apple Mail (iOS)');
    expect([share, reference]).toEqual([expect.any(Number), expect.stringContaining('/css-position/')]);
    expect(new Set([...(full ?? []), ...(partial ?? []), ...(none ?? [])]).size).toBeGreaterThan(30);
  });

  it('says so too where it is no finding', () => {
    const { findings, features } = lintMail(page('<p style="border-radius:3px">a</p>'));
    const none = expect.arrayContaining(['Outlook (Windows)']);
    expect(findings).toEqual([]);
    expect(features).toContainEqual(expect.objectContaining({ feature: 'border-radius', none }));
  });
});
