import { describe, expect, it } from 'vitest';
import { lintMail } from '../../../src/mail/lint/lint.ts';
import { crlf, header, html, multipart, part, text } from './building.ts';

const SHOP = 'Acme <hello@acme.example>';
/** Languages in turn: the subject, the sentence and the footer of a mail. */
type Words = [subject: string, html: string, footer: string];
const UNSUBSCRIBE = 'https://acme.example/u/9f8e7d';
const footer = (label: string) => `<p><small><a href="${UNSUBSCRIBE}">${label}</a></small></p>`;
const link = (href: string, label: string) => `<p><a href="https://acme.example/${href}">${label}</a></p>`;
const strip = (page: string) => page.replaceAll(/<[^>]*>/g, ' ');
const mail = ([subject, body, foot]: Words, ...fields: string[]) =>
  crlf([
    ...header(subject, SHOP, ...fields),
    multipart('alternative', [
      text(`${strip(body)}\n\n${foot}: ${UNSUBSCRIBE}`),
      html(`<!doctype html><html lang="en"><body>${body}${footer(foot)}</body></html>`),
    ]),
  ]);

/** Mails that one person has asked for by signing up or in, with the footer that the sender puts under all its mail. */
const ASKED_FOR: Words[] = [
  [
    'Confirm your email address',
    `<h1>Welcome to Acme</h1><p>Please confirm your address.</p>${link('verify?t=8f3a', 'Confirm email')}`,
    'Unsubscribe',
  ],
  [
    'Your verification code',
    '<p>Enter this code to finish signing up:</p><h2>482910</h2><p>It expires in 10 minutes.</p>',
    'Unsubscribe',
  ],
  [
    'Activate your account',
    `<p>Hi Ada,</p><p>You are one click away.</p>${link('activate/8f3a', 'Activate account')}`,
    'Manage preferences or unsubscribe',
  ],
  [
    'Reset your password',
    `<p>Somebody asked for a new password.</p>${link('reset?t=8f3a', 'Reset password')}`,
    'Unsubscribe from these emails',
  ],
  [
    'Sign in to Acme',
    `<p>Use this link to sign in. It works once.</p>${link('login?t=8f3a', 'Sign in')}`,
    'Unsubscribe',
  ],
  ['123456 is your Acme code', '<p>123456 is your Acme code. Never share it.</p>', 'Unsubscribe'],
  [
    'Bitte bestätige deine E-Mail-Adresse',
    `<p>Schön, dass du da bist!</p>${link('bestaetigen/8f3a', 'E-Mail-Adresse bestätigen')}`,
    'Abmelden',
  ],
  [
    'Confirmez votre adresse e-mail',
    `<p>Bienvenue !</p>${link('confirmer/8f3a', 'Confirmer mon adresse')}`,
    'Se désabonner',
  ],
  ['Tu código de verificación', '<p>Tu código de verificación es <b>739204</b>.</p>', 'Cancelar suscripción'],
  [
    'Bevestig je e-mailadres',
    `<p>Nog één stap.</p>${link('bevestig/8f3a', 'E-mailadres bevestigen')}`,
    'Afmelden',
  ],
  [
    'Conferma il tuo indirizzo email',
    `<p>Benvenuta!</p>${link('conferma/8f3a', 'Conferma indirizzo')}`,
    'Annulla iscrizione',
  ],
  [
    'Confirm your subscription',
    `<p>You asked for our newsletter. Confirm that it was you.</p>${link('confirm/8f3a', 'Yes, subscribe me')}`,
    'Unsubscribe',
  ],
];

/** Mails that go to many. */
const FOR_MANY: Words[] = [
  [
    '20 % off until Sunday',
    `<h1>Warm socks</h1><p>Now 9.60 EUR.</p>${link('socks', 'Shop now')}`,
    'Unsubscribe',
  ],
  [
    'What we learned in November',
    `<p>We shipped search.</p>${link('blog/search', 'Read more')}`,
    'Unsubscribe',
  ],
  [
    'Your weekly digest',
    `<p>3 new posts.</p>${link('posts/1', 'First')}${link('posts/2', 'Second')}`,
    'Unsubscribe',
  ],
  [
    'Unsere Angebote im Advent',
    `<p>Nur bis Sonntag.</p>${link('advent', 'Jetzt stöbern')}`,
    'Newsletter abbestellen',
  ],
  [
    'Nos offres de la semaine',
    `<p>Jusqu’à dimanche.</p>${link('offres', 'Voir les offres')}`,
    'Se désabonner',
  ],
  [
    'News for members',
    `<p>We have a new shop in Rome.</p>${link('rome', 'See the shop')}<p><a href="https://acme.example/login">Log in</a></p>`,
    'Unsubscribe',
  ],
  [
    'Save with code ADVENT20',
    `<p>Use code ADVENT20 at checkout.</p>${link('advent', 'Shop now')}`,
    'Unsubscribe',
  ],
  ['Year in review', `<p>You walked 482910 steps.</p>${link('review', 'See your year')}`, 'Unsubscribe'],
];

const LIST_RULES = ['missing-list-unsubscribe', 'no-one-click-unsubscribe'];
const listRules = (raw: Buffer) => lintMail(raw).filter(({ rule }) => LIST_RULES.includes(rule));

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
  const report = (original: string[]) =>
    crlf([
      ...header(
        'Undelivered Mail Returned to Sender',
        'MAILER-DAEMON@mx.example',
        'Auto-Submitted: auto-replied',
      ),
      multipart(
        'report; report-type=delivery-status',
        [
          text('Your message could not be delivered.'),
          part(
            ['Content-Type: message/delivery-status'],
            'Reporting-MTA: dns; mx.example\n\nFinal-Recipient: rfc822; a@b.example\nAction: failed\nStatus: 5.1.1',
          ),
          part(original, 'Subject: Hello\nFrom: a@acme.example'),
        ],
        '=_report',
      ),
    ]);
  it.each([
    [['Content-Type: text/rfc822-headers']],
    [['Content-Type: text/rfc822-headers; charset=us-ascii', 'Content-Disposition: attachment']],
    [['Content-Type: Text/RFC822-Headers', 'Content-Description: Undelivered Message Headers']],
    [['Content-Type: message/rfc822', 'Content-Disposition: attachment']],
    [['Content-Type: message/global-headers', 'Content-Disposition: attachment']],
    [['Content-Type: message/global']],
  ])('needs no file name for the returned header: %s', (original) => {
    expect(lintMail(report(original))).toEqual([]);
  });

  it('needs one for a document beside it', () => {
    const rules = lintMail(report(['Content-Type: application/pdf', 'Content-Disposition: attachment']));
    expect(rules.map(({ rule }) => rule)).toEqual(['attachment-without-filename']);
  });
});

describe('a rule that is broken many times', () => {
  const page = (body: string, ...attachments: string[]) =>
    crlf([
      ...header('Hello', SHOP),
      multipart('mixed', [
        multipart(
          'alternative',
          [text('Hello'), html(`<!doctype html><html lang="en"><body>${body}</body></html>`)],
          '=_inner',
        ),
        ...attachments,
      ]),
    ]);
  const image = (n: number) => `<img src="https://acme.example/${n}.png" width="10" height="10">`;
  const pdf = part(['Content-Type: application/pdf', 'Content-Disposition: attachment'], 'x');
  const counts = (raw: Buffer) => lintMail(raw).map(({ rule, count }) => ({ rule, count }));

  it('is one finding with the number of times', () => {
    const repeated = Array.from({ length: 7 }, (_, n) => image(n)).join('');
    expect(counts(page(repeated))).toEqual([{ rule: 'image-without-alt', count: 7 }]);
    expect(counts(page(image(0)))).toEqual([{ rule: 'image-without-alt', count: 1 }]);
    expect(counts(page('Hello', pdf, pdf, pdf))).toEqual([{ rule: 'attachment-without-filename', count: 3 }]);
    const links = [1, 2, 3].map((n) => `<a href="http://acme.example/${n}">${n}</a>`).join('');
    expect(counts(page(links))).toEqual([{ rule: 'insecure-link', count: 3 }]);
  });

  it('is one finding each where several are', () => {
    const found = counts(
      page(
        `${image(1)}${image(2)}<a href="http://acme.example/">x</a><img src="cid:a" alt="" width="1" height="2"><img src="cid:b" alt="" width="1" height="2">`,
      ),
    );
    expect(found.toSorted((a, b) => a.rule.localeCompare(b.rule))).toEqual([
      { rule: 'broken-cid', count: 2 },
      { rule: 'image-without-alt', count: 2 },
      { rule: 'insecure-link', count: 1 },
    ]);
  });

  it('says of each feature that mail programs lack which it is', () => {
    const found = lintMail(
      page('<p style="position:absolute;color:var(--x)">a</p><svg></svg><p style="position:fixed">b</p>'),
    );
    const features = found.filter(({ rule }) => rule === 'little-client-support');
    expect(features).toHaveLength(1);
    for (const feature of ['position', 'var', 'svg'])
      expect(features[0]?.message.toLowerCase()).toContain(feature);
  });

  it('says by mail client what is not supported, and on which lines of the HTML', () => {
    const style =
      '<style>\np {\n  position: absolute; border-radius: 3px;\n}\n@supports (gap: 1px) {\n  p { gap: 1px }\n}\n</style>';
    const [{ features = [] } = {}] = lintMail(
      page(
        `${style}\n<p style="position:fixed;width:calc(1px + 2em)">a</p>\n<svg></svg><input type="hidden">`,
      ),
    );
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

  it('is counted beyond what is listed', () => {
    const repeated = Array.from({ length: 400 }, (_, n) => image(n)).join('');
    expect(counts(page(repeated))).toContainEqual({ rule: 'image-without-alt', count: 400 });
  });
});
