import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { lintMail, RULES } from '../../../src/mail/lint/lint.ts';

const CORPORA = '../shared/corpora';
const HEAD = [
  'Date: Sun, 22 Nov 2026 10:00:00 +0000',
  'From: Shop <shop@shop.example>',
  'To: ada@mayfly.test',
  'Subject: Hello',
  'Message-ID: <1@shop.example>',
  'MIME-Version: 1.0',
];
const mail = (lines: readonly string[], body = '', type = 'Content-Type: text/plain; charset=utf-8') =>
  Buffer.from([...lines, type, '', body, ''].join('\r\n'));
const without = (name: string) => HEAD.filter((line) => !line.startsWith(`${name}:`));
/** A well-made mail with this text and this HTML. */
const page = (html: string, text = 'Hello', head = HEAD) =>
  mail(
    head,
    [
      '--b',
      'Content-Type: text/plain; charset=utf-8',
      '',
      text,
      '--b',
      'Content-Type: text/html; charset=utf-8',
      '',
      html,
      '--b--',
    ].join('\r\n'),
    'Content-Type: multipart/alternative; boundary=b',
  );
const words = Array.from({ length: 30 }, (_, i) => `word${i}`).join(' ');

/** Pages that break a rule of accessibility, and much like them pages that do not; written before the rules. */
const PAGES: Record<string, { bad: string[]; good: string[] }> = JSON.parse(
  readFileSync(join(import.meta.dirname, 'accessibility.json'), 'utf8'),
);

/** For each rule mails that trigger it, and mails much like them that do not. */
const CASES: Record<string, { bad: Buffer[]; good: Buffer[] }> = {
  ...Object.fromEntries(
    Object.entries(PAGES).map(([rule, { bad, good }]) => [
      rule,
      { bad: bad.map((html) => page(html)), good: good.map((html) => page(html)) },
    ]),
  ),
  'missing-subject': {
    bad: [mail(without('Subject')), mail([...without('Subject'), 'Subject:  '])],
    good: [mail(HEAD), mail([...without('Subject'), 'Subject: 0'])],
  },
  'missing-date': { bad: [mail(without('Date'))], good: [mail(HEAD)] },
  'missing-from': { bad: [mail(without('From'))], good: [mail(HEAD)] },
  'missing-message-id': { bad: [mail(without('Message-ID'))], good: [mail(HEAD)] },
  'unreadable-date': {
    bad: [mail([...without('Date'), 'Date: tomorrow'])],
    good: [mail(HEAD), mail(without('Date')), mail([...without('Date'), 'Date: 22 Nov 2026 10:00 GMT'])],
  },
  'duplicate-field': {
    bad: [mail([...HEAD, 'Subject: again']), mail([...HEAD, 'FROM: b@shop.example'])],
    good: [mail([...HEAD, 'Received: from a by b; x', 'Received: from b by c; x', 'X-A: 1', 'X-A: 2'])],
  },
  '8-bit-header': {
    bad: [mail([...without('Subject'), 'Subject: café'])],
    good: [
      mail([...without('Subject'), 'Subject: =?utf-8?q?caf=C3=A9?=']),
      mail(HEAD, 'café'),
      mail([...without('To'), 'To: jürgen@müller.example', 'X-A: café']),
    ],
  },
  'long-line': {
    bad: [mail(HEAD, 'x'.repeat(999)), mail([...HEAD, `X-A: ${'x'.repeat(999)}`])],
    good: [mail(HEAD, 'x'.repeat(998))],
  },
  'missing-mime-version': { bad: [mail(without('MIME-Version'))], good: [mail(HEAD)] },
  'missing-list-unsubscribe': {
    bad: [
      mail([...HEAD, 'Precedence: bulk']),
      mail([...HEAD, 'Precedence: bulk', 'Auto-Submitted: no']),
      page('<a href="https://shop.example/unsubscribe?u=1">Unsubscribe</a>'),
    ],
    good: [
      mail(HEAD),
      mail([...HEAD, 'Precedence: bulk', 'List-Unsubscribe: <mailto:off@shop.example>']),
      mail([...HEAD, 'Auto-Submitted: auto-generated']),
      mail([...HEAD, 'Precedence: bulk', 'Auto-Submitted: auto-replied']),
      mail([...HEAD, 'Feedback-ID: receipts:pay.example']),
      page('<a href="https://shop.example/unsubscribe?u=1">x</a>', 'x', [
        ...HEAD,
        'In-Reply-To: <1@a.example>',
      ]),
      page('<a href="https://shop.example/unsubscribe?u=1">x</a>', 'x', [
        ...without('Subject'),
        'Subject: Fwd: x',
      ]),
    ],
  },
  'no-one-click-unsubscribe': {
    bad: [mail([...HEAD, 'List-Unsubscribe: <https://shop.example/u/1>'])],
    good: [
      mail(HEAD),
      mail([
        ...HEAD,
        'List-Unsubscribe: <https://shop.example/u/1>',
        'List-Unsubscribe-Post: List-Unsubscribe=One-Click',
      ]),
      mail([...HEAD, 'List-Unsubscribe: <mailto:leave@list.example>']),
    ],
  },
  'wrong-charset': {
    bad: [
      mail(HEAD, 'café', 'Content-Type: text/plain; charset=us-ascii'),
      mail(HEAD, 'x', 'Content-Type: text/plain; charset=utf-9'),
      Buffer.from(mail(HEAD, 'caf\u00e9').toString(), 'latin1'),
    ],
    good: [
      mail(HEAD, 'café'),
      mail(HEAD, 'cafe', 'Content-Type: text/plain; charset=us-ascii'),
      Buffer.from(mail(HEAD, 'café', 'Content-Type: text/plain; charset=iso-8859-1').toString(), 'latin1'),
    ],
  },
  'missing-charset': {
    bad: [mail(HEAD, 'café', 'Content-Type: text/plain')],
    good: [mail(HEAD, 'cafe', 'Content-Type: text/plain'), mail(HEAD, 'café')],
  },
  'missing-text-alternative': {
    bad: [
      mail(HEAD, '<p>Hello', 'Content-Type: text/html; charset=utf-8'),
      mail(HEAD, '<img src="https://shop.example/a.png" alt="">', 'Content-Type: text/html; charset=utf-8'),
    ],
    good: [page('<p>Hello'), mail(HEAD, 'Hello'), mail(HEAD, '<p> </p>', 'Content-Type: text/html')],
  },
  'different-text-alternative': {
    bad: [page(`<p>${words}`, 'Your mail program shows no HTML. See https://shop.example/web')],
    good: [page(`<p>${words}`, words), page('<p>Your code is <b>482913</b>', 'Code: 482913')],
  },
  'clipped-html': {
    bad: [page(`<p>${'Hello, Ada. '.repeat(9_000)}`, 'Hello, Ada.')],
    good: [page(`<p>${'Hello, Ada. '.repeat(8_000)}`, 'Hello, Ada.')],
  },
  'attachment-without-filename': {
    bad: [mail(HEAD, 'x', 'Content-Type: application/pdf\r\nContent-Disposition: attachment')],
    good: [
      mail(HEAD, 'x', 'Content-Type: application/pdf\r\nContent-Disposition: attachment; filename=a.pdf'),
      mail(HEAD, 'Subject: x\r\n\r\ny', 'Content-Type: message/rfc822'),
      mail(HEAD, 'x', 'Content-Type: text/calendar; method=REQUEST\r\nContent-Disposition: attachment'),
      mail(HEAD, 'x', 'Content-Type: application/pgp-signature\r\nContent-Disposition: attachment'),
    ],
  },
  'image-without-alt': {
    bad: [page('<img src="https://shop.example/a.png" width=10>')],
    good: [
      page('<img src="https://shop.example/a.png" width=10 alt="">'),
      page('<img src="https://shop.example/open.gif" width=1 height=1>'),
    ],
  },
  'image-without-size': {
    bad: [page('<img src="https://shop.example/a.png" alt=A>')],
    good: [
      page('<img src="https://shop.example/a.png" alt=A width=10 height=10>'),
      page('<img src="https://shop.example/a.png" alt=A style="max-width: 100%">'),
    ],
  },
  'broken-cid': {
    bad: [page('<img src="cid:logo" alt=A width=10>')],
    good: [
      page('<img src="https://shop.example/a.png" alt=A width=10>'),
      mail(
        HEAD,
        [
          '--b',
          'Content-Type: text/html; charset=utf-8',
          '',
          '<img src="cid:logo%40shop" alt=A width=10>',
          '--b',
          'Content-Type: image/png',
          'Content-ID: <logo@shop>',
          '',
          'x',
          '--b--',
        ].join('\r\n'),
        'Content-Type: multipart/related; boundary=b',
      ),
    ],
  },
  'insecure-link': {
    bad: [page('<a href="http://shop.example/reset?token=1">Reset</a>')],
    good: [
      page('<a href="https://shop.example/">Shop</a>'),
      page(
        '<a href="http://localhost:3000/reset">Reset</a><a href="http://app.test/">App</a><a href="http://127.0.0.1/">x</a>',
      ),
    ],
  },
  'insecure-image': {
    bad: [page('<img src="http://shop.example/a.png" alt=A width=10>')],
    good: [page('<img src="https://shop.example/a.png" alt=A width=10>')],
  },
  'unfilled-template': {
    bad: [
      mail([...without('Subject'), 'Subject: Welcome, {{ first_name }}!']),
      mail([...without('Subject'), 'Subject: Your order *|ORDER|*']),
      mail([...without('Subject'), 'Subject: Order [object Object] is on its way']),
      mail(HEAD, 'Hi undefined,\n\nyour code is 482913.'),
      mail(HEAD, 'Hello ,\n\nyour code is 482913.'),
      mail(HEAD, `Dear \${user.name},\n\nwelcome.`),
      mail(HEAD, 'Confirm: https://shop.example/confirm/undefined'),
      page('<p>Hi <b></b>,</p><p>Hello', 'Hello'),
      page('<a href="https://shop.example/reset?token={{token}}">Reset</a>'),
      page('<a href="https://shop.example/u/%7B%7Bid%7D%7D">Unsubscribe</a>'),
    ],
    good: [
      mail([...without('Subject'), 'Subject: Re: {{ first_name }} is not replaced']),
      mail([
        ...without('Subject'),
        `Subject: [acme/ci] Use \${{ secrets.TOKEN }}`,
        'List-Id: <ci.acme.example>',
      ]),
      mail([...without('Subject'), 'Subject: 100 % off {today}']),
      mail(HEAD, 'Hi Ada,\n\nwrite {{ name }} where the name belongs. Null is undefined.'),
      mail(HEAD, 'Hello,\n\nhttps://shop.example/docs/undefined-behaviour?ref=null'),
      mail(HEAD, 'Hi Nonette,\n\nhello.'),
    ],
  },
  'little-client-support': {
    bad: [
      page('<style>p{color:var(--x)}</style><p>a'),
      page('<svg></svg>'),
      page('<p style="position:absolute">a'),
      page('<link rel=stylesheet href="https://shop.example/a.css">'),
      page('<style>@import url(https://shop.example/a.css);</style>'),
      page('<style>@supports (gap:1px){p{gap:1px}} p{gap:1px}</style><p>a'),
    ],
    good: [
      page('<style>p{color:red;transition:all 1s;position:static}@media print{p{color:#000}}</style><p>a'),
      page('<input type=hidden name=a>'),
      page('<style>@supports (gap:1px){p{gap:1px} @media print{p{gap:2px}} q{gap:3px}}</style><p>a'),
      page('<link rel=stylesheet href="https://fonts.googleapis.com/css?family=Inter">'),
      page('<picture><source srcset=b><img src=a alt="" width=1 height=2></picture>'),
      page('<p style="position:relative">a'),
    ],
  },
};

const rulesOf = (source: Buffer) => lintMail(source).findings.map(({ rule }) => rule);

describe('each rule', () => {
  it('has cases, and each case has a rule', () => {
    expect(Object.keys(CASES).toSorted()).toEqual(RULES.map(({ name }) => name).toSorted());
  });

  it.each(Object.entries(CASES))('%s finds what it is for, and only that', (rule, { bad, good }) => {
    for (const source of bad) expect(rulesOf(source), String(source)).toContain(rule);
    for (const source of good) expect(rulesOf(source), String(source)).not.toContain(rule);
  });

  it('has findings with a sentence, a severity and a reference', () => {
    const findings = Object.values(CASES).flatMap(({ bad }) =>
      bad.flatMap((source) => lintMail(source).findings),
    );
    for (const { message, severity, reference } of findings) {
      expect(message).toMatch(/^["A-Z].*\S$/);
      expect(['error', 'warning', 'info']).toContain(severity);
      expect(reference).not.toBe('');
    }
  });
});

describe('any mail', () => {
  it('has the most severe findings first', () => {
    const severities = lintMail(mail(without('Date'), '<img src=a>', 'Content-Type: text/html')).findings.map(
      ({ severity }) => severity,
    );
    expect(severities).toEqual(
      severities.toSorted(
        (a, b) => ['error', 'warning', 'info'].indexOf(a) - ['error', 'warning', 'info'].indexOf(b),
      ),
    );
    expect(severities.length).toBeGreaterThan(3);
  });

  it.skipIf(!existsSync(CORPORA))('every mail of the corpora is checked (skipped without them)', () => {
    const files = readdirSync(CORPORA, { recursive: true, encoding: 'utf8' }).filter((name) =>
      /^(?:cpython-test-email|cutiemail-torture|mime4j)\/.*\.(?:eml|msg|txt)$/.test(name),
    );
    expect(files.length).toBeGreaterThan(100);
    for (const file of files) {
      expect(Array.isArray(lintMail(readFileSync(`${CORPORA}/${file}`)).findings), file).toBe(true);
    }
  });
});
