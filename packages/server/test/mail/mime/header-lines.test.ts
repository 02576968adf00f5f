import { describe, expect, it } from 'vitest';
import { contentOf, multipart, read, utf8 } from '../support/mails.ts';

const TRACE = ['Received: from a', '\tby b; Sat, 21 Nov 2026 10:51:34 +0000'];

describe('a broken line of a header costs that line and nothing else', () => {
  it.each([
    'From ada@sender.test',
    'From ada@sender.test Sat Nov 21 10:51:34 2026',
    'From ada@sender.test  Sat, 21 Nov 2026 10:51:34 +0000',
    'From MAILER-DAEMON Fri Jul  8 12:08:34 2011',
    '>From ada@sender.test Sat Nov 21 10:51:34 2026',
    'From - Sat Nov 21 10:51:34 2026',
  ])('the line of a mailbox file: %s', (line) => {
    for (const before of [[], TRACE]) {
      const { summary, content } = read(...before, line, 'Subject: Hi', 'X-Any: y', '', 'text', '');
      expect(summary.subject).toBe('Hi');
      expect(content.text).toBe('text\n');
      expect(content.headers.map(({ name }) => name)).toEqual([
        ...(before.length > 0 ? ['Received'] : []),
        'Subject',
        'X-Any',
      ]);
    }
  });

  it('the line of a mailbox file before fields that nobody knows', () => {
    const { content } = read('From ada@sender.test', 'Any: y', '', 'text', '');
    expect(content).toMatchObject({ headers: [{ name: 'Any', value: 'y' }], text: 'text\n' });
  });

  it('a line without a colon between fields', () => {
    const { summary, content } = read(
      'From: ada@sender.test',
      'this line has no colon',
      'Subject: Hi',
      'nor has this',
      ' with its fold',
      'To: b@c.test',
      'Content-Type: text/html',
      '',
      '<p>x</p>',
      '',
    );
    expect(summary).toMatchObject({
      subject: 'Hi',
      from: { address: 'ada@sender.test' },
      to: [{ address: 'b@c.test' }],
    });
    expect(content).toMatchObject({ html: '<p>x</p>\n', text: null });
    expect(content.headers.map(({ name }) => name)).toEqual(['From', 'Subject', 'To', 'Content-Type']);
  });

  it('a first line that goes on with nothing', () => {
    expect(read(' folded from nowhere', 'Subject: Hi', '', 'text', '')).toMatchObject({
      summary: { subject: 'Hi' },
      content: { text: 'text\n', headers: [{ name: 'Subject', value: 'Hi' }] },
    });
  });

  it('a fold that lost its blank: the parameters are found all the same', () => {
    const fold = [
      'Content-Type: multipart/mixed;',
      'boundary="b"',
      'Subject: Hi',
      '',
      '--b',
      '',
      'in',
      '--b--',
      '',
    ];
    expect(read(...fold)).toMatchObject({ summary: { subject: 'Hi' }, content: { text: 'in' } });
    const part = [
      'Content-Type: application/pdf;',
      'name="a.pdf"',
      'Content-Transfer-Encoding: base64',
      '',
      'QUI=',
    ];
    expect(contentOf(...multipart('mixed', ['', 'text'], part))).toMatchObject({
      text: 'text',
      attachments: [{ contentType: 'application/pdf', filename: 'a.pdf', size: 2 }],
    });
  });

  it('a fold that lost its blank, of a text: only its line is lost', () => {
    const { summary, content } = read(
      'Subject: a very long',
      'subject indeed',
      'From: a@b.test',
      '',
      'x',
      '',
    );
    expect(summary).toMatchObject({ subject: 'a very long', from: { address: 'a@b.test' } });
    expect(content.text).toBe('x\n');
  });

  it('a broken line in the header of a part', () => {
    const part = [
      'Content-Type: application/pdf',
      'oh no',
      'Content-Disposition: attachment; filename=a.pdf',
      '',
      'x',
    ];
    expect(contentOf(...multipart('mixed', ['', 'text'], part))).toMatchObject({
      attachments: [{ contentType: 'application/pdf', filename: 'a.pdf', size: 1 }],
    });
  });

  it('a field name with bytes beyond ASCII, or with an "=" in it, is no field', () => {
    const { content } = read(`${utf8('Ünter')}: x`, 'a=b: c', 'Subject: Hi', '', 'text', '');
    expect(content).toMatchObject({ headers: [{ name: 'Subject' }], text: 'text\n' });
  });
});

describe('a header is read as RFC 5322 writes it, obsolete forms included', () => {
  it('lines of nothing but blanks belong to the field above', () => {
    const { content } = read('Subject: one', '\t ', ' two', 'X: y', '', 'text', '');
    expect(content.headers).toEqual([
      { name: 'Subject', value: 'one\t  two' },
      { name: 'X', value: 'y' },
    ]);
  });

  it('bare line feeds end lines, and bare carriage returns do not', () => {
    const { content } = read('Subject: one\nX: a\rb\n\ntext\n');
    expect(content).toMatchObject({
      headers: [
        { name: 'Subject', value: 'one' },
        { name: 'X', value: 'a b' },
      ],
      text: 'text\n',
    });
  });

  it('a link at the start of a body that lacks its empty line is text, not a field', () => {
    const { content } = read('Subject: Hi', 'https://app.test/verify?token=1', 'Bye', '');
    expect(content.text).toBe('https://app.test/verify?token=1\nBye\n');
    expect(content.headers).toEqual([{ name: 'Subject', value: 'Hi' }]);
  });

  it('of a field given twice the first counts, for the reader of parts as for people', () => {
    const { summary, content } = read(
      ...['Subject: first', 'Subject: second', 'From: a@b.test', 'From: c@d.test'],
      ...['Content-Type: text/html', 'Content-Type: text/plain', '', '<p>x</p>', ''],
    );
    expect(summary).toMatchObject({ subject: 'first', from: { address: 'a@b.test' } });
    expect(content).toMatchObject({ html: '<p>x</p>\n', text: null });
  });

  it('the Sender field is the sender', () => {
    const { content } = read('From: a@b.test, c@d.test', 'Sender: "C" <c@d.test>', '', 'x', '');
    expect(content.sender).toEqual({ address: 'c@d.test', name: 'C' });
    expect(contentOf('From: a@b.test', '', 'x', '').sender).toBeNull();
  });
});
