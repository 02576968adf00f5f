import { describe, expect, it } from 'vitest';
import { boundedBy, contentOf, multipart, read } from './support/mails.ts';

const text = (...header: string[]) => ['Content-Type: text/plain', ...header, '', 'plain'];
const html = (...header: string[]) => ['Content-Type: text/html', ...header, '', '<p>page</p>'];
const picture = (...header: string[]) => ['Content-Type: image/png', ...header, '', 'PNG'];
const NAMED = 'Content-Disposition: inline; filename="body.txt"';
const ATTACHED = 'Content-Disposition: attachment; filename="notes.txt"';

describe('a body part is a body part whether or not it has a file name', () => {
  it('in multipart/alternative', () => {
    const mail = multipart('alternative', text(NAMED), html(NAMED));
    expect(contentOf(...mail)).toMatchObject({
      text: 'plain',
      html: '<p>page</p>',
      attachments: [],
    });
  });

  it('as the first text of multipart/mixed, wherever it stands', () => {
    expect(contentOf(...multipart('mixed', text(NAMED), picture()))).toMatchObject({
      text: 'plain',
      attachments: [{ contentType: 'image/png' }],
    });
    expect(contentOf(...multipart('mixed', picture(), text(NAMED)))).toMatchObject({ text: 'plain' });
    const named = ['Content-Type: text/plain; name="body.txt"', '', 'plain'];
    expect(contentOf(...multipart('mixed', named))).toMatchObject({ text: 'plain', attachments: [] });
  });

  it('as the root of multipart/related', () => {
    const mail = multipart('related', html(NAMED), picture('Content-ID: <p>'));
    expect(contentOf(...mail)).toMatchObject({ html: '<p>page</p>', attachments: [{ contentId: 'p' }] });
  });

  it('but a named text behind the body of a multipart/mixed is a file (RFC 8621 section 4.1.4)', () => {
    const file = ['Content-Type: text/plain; name="notes.txt"', '', 'notes'];
    expect(contentOf(...multipart('mixed', text(), file))).toMatchObject({
      text: 'plain',
      attachments: [{ filename: 'notes.txt', disposition: 'attachment' }],
    });
  });

  it('and a text that is declared an attachment is one, even alone', () => {
    expect(contentOf(...multipart('mixed', text(), text(ATTACHED)))).toMatchObject({
      text: 'plain',
      attachments: [{ filename: 'notes.txt', disposition: 'attachment' }],
    });
    expect(contentOf(...text(ATTACHED))).toMatchObject({
      text: null,
      attachments: [{ filename: 'notes.txt' }],
    });
  });

  it('texts without a name in multipart/mixed are one body, in order', () => {
    const footer = ['Content-Type: text/plain', '', 'footer'];
    expect(contentOf(...multipart('mixed', text(), picture(), footer))).toMatchObject({
      text: 'plain\nfooter',
    });
  });
});

describe('multipart/related (RFC 2387)', () => {
  const related = (parameters: string, ...parts: string[][]) => {
    const [head = '', ...rest] = multipart('related', ...parts);
    return [`${head}${parameters}`, ...rest];
  };

  it('has the root that "start" names, wherever it stands', () => {
    const other = ['Content-Type: text/html', 'Content-ID: <frame@x>', '', '<p>frame</p>'];
    const mail = related('; start="<root@x>"', other, html('Content-ID: <root@x>'), picture());
    expect(contentOf(...mail)).toMatchObject({
      html: '<p>page</p>',
      attachments: [{ contentId: 'frame@x', disposition: 'inline' }, { contentType: 'image/png' }],
    });
  });

  it('has its first part as root where "start" names none, or one that is not there', () => {
    const other = ['Content-Type: text/html', 'Content-ID: <frame@x>', '', '<p>frame</p>'];
    for (const start of ['', '; start="<gone@x>"', '; start=""']) {
      expect(contentOf(...related(start, html(), other)), start).toMatchObject({
        html: '<p>page</p>',
        attachments: [{ contentId: 'frame@x' }],
      });
    }
  });

  it('has its page as root also where pictures stand before it', () => {
    const mail = multipart('related', picture('Content-ID: <p>'), html());
    expect(contentOf(...mail)).toMatchObject({ html: '<p>page</p>', attachments: [{ contentId: 'p' }] });
    const within = boundedBy('alt', 'alternative', text(), html());
    expect(contentOf(...multipart('related', picture(), within))).toMatchObject({
      text: 'plain',
      html: '<p>page</p>',
    });
  });

  it('with text and page side by side has both, as no page can show the other', () => {
    expect(contentOf(...multipart('related', text(), html(), picture()))).toMatchObject({
      text: 'plain',
      html: '<p>page</p>',
      attachments: [{ contentType: 'image/png' }],
    });
  });
});

describe('text in other notations', () => {
  it.each(['text/markdown', 'text/x-markdown', 'text/enriched', 'text/richtext', 'text/x-unheard-of'])(
    '%s is text, as sent',
    (type) => {
      const mail = [`Content-Type: ${type}`, '', '<bold>Hi</bold>', ''];
      expect(contentOf(...mail)).toMatchObject({ text: '<bold>Hi</bold>\n', html: null, attachments: [] });
    },
  );

  it.each(['application/xhtml+xml', 'TEXT/HTML'])('%s is html', (type) => {
    const mail = [`Content-Type: ${type}`, '', '<p>Hi</p>', ''];
    expect(contentOf(...mail)).toMatchObject({ html: '<p>Hi</p>\n', text: null, attachments: [] });
  });

  it('a second notation of the same text is an inline part, and the text is there once', () => {
    const enriched = ['Content-Type: text/enriched', '', '<bold>plain</bold>'];
    const { summary, content } = read(...multipart('alternative', text(), enriched, html()));
    expect(content).toMatchObject({
      text: 'plain',
      html: '<p>page</p>',
      attachments: [{ contentType: 'text/enriched', disposition: 'inline' }],
    });
    expect(summary).toMatchObject({ attachmentCount: 0, inlineCount: 1 });
  });

  it.each(['text/calendar', 'text/csv', 'text/vcard', 'text/x-amp-html', 'text/rfc822-headers', 'text/css'])(
    '%s is data and no body',
    (type) => {
      const part = [`Content-Type: ${type}`, '', 'data'];
      expect(contentOf(...multipart('mixed', text(), part))).toMatchObject({
        text: 'plain',
        attachments: [{ contentType: type }],
      });
    },
  );
});

describe('counts', () => {
  it('attachmentCount has the attachments, inlineCount the inline parts', () => {
    const calendar = ['Content-Type: text/calendar; method=REQUEST', '', 'BEGIN:VCALENDAR'];
    const amp = ['Content-Type: text/x-amp-html', '', '<html amp4email>'];
    const alternative = boundedBy('alt', 'alternative', text(), amp, html(), calendar);
    const related = boundedBy('rel', 'related', alternative, picture('Content-ID: <p>'));
    const { summary, content } = read(...multipart('mixed', related, text(ATTACHED), picture()));
    expect(summary).toMatchObject({ attachmentCount: 2, inlineCount: 3 });
    expect(
      content.attachments.map(({ contentType, disposition }) => `${contentType} ${disposition}`),
    ).toEqual([
      'text/x-amp-html inline',
      'text/calendar inline',
      'image/png inline',
      'text/plain attachment',
      'image/png attachment',
    ]);
    expect(content).toMatchObject({ text: 'plain', html: '<p>page</p>' });
  });

  it('a disposition that is not known counts as an attachment (RFC 2183 section 2.8)', () => {
    const part = picture('Content-Disposition: strange');
    expect(read(...multipart('mixed', text(), part)).summary).toMatchObject({
      attachmentCount: 1,
      inlineCount: 0,
    });
  });
});

describe('an odd part does not affect the others', () => {
  it('a multipart in which no part was found is text', () => {
    const head = 'Content-Type: multipart/mixed; boundary=gone';
    expect(contentOf(head, '', 'just words', '')).toMatchObject({ text: 'just words\n', attachments: [] });
    expect(contentOf('Content-Type: multipart/mixed', '', 'just words', '')).toMatchObject({
      text: 'just words\n',
    });
  });

  it('an empty multipart adds nothing to the text', () => {
    const empty = ['Content-Type: multipart/related; boundary=none', ''];
    expect(contentOf(...multipart('mixed', text(), empty))).toMatchObject({ text: 'plain' });
  });

  it('a digest has messages (RFC 2046 section 5.1.5)', () => {
    const mail = multipart('digest', ['', 'Subject: one', '', 'x'], ['Content-Type: text/plain', '', 'y']);
    expect(contentOf(...mail)).toMatchObject({
      text: 'y',
      attachments: [{ contentType: 'message/rfc822' }],
    });
  });

  it('multiparts within each other that share a boundary are all found', () => {
    const inner = multipart('alternative', text(), html());
    const { content } = read(...multipart('mixed', inner, picture()));
    expect(content).toMatchObject({ text: 'plain', html: '<p>page</p>', attachments: [{ size: 3 }] });
  });

  it('boundaries with the same beginning are distinguished', () => {
    const inner = boundedBy('b-inner', 'alternative', text(), html());
    const outer = multipart('mixed', inner, picture());
    expect(contentOf(...outer)).toMatchObject({
      text: 'plain',
      html: '<p>page</p>',
      attachments: [{ size: 3 }],
    });
    const reversed = boundedBy('b--', 'mixed', multipart('alternative', text(), html()), picture());
    expect(contentOf(...reversed)).toMatchObject({ html: '<p>page</p>', attachments: [{ size: 3 }] });
  });

  it('the end of an inner multipart may be missing, and blanks may follow a delimiter', () => {
    const inner = boundedBy('in', 'alternative', text(), html()).slice(0, -2);
    const mail = [
      'Content-Type: multipart/mixed; boundary="b "',
      '',
      '--b \t',
      ...inner,
      '--b',
      ...picture(),
      '--b-- ',
    ];
    expect(contentOf(...mail)).toMatchObject({
      text: 'plain',
      html: '<p>page</p>',
      attachments: [{ contentType: 'image/png', size: 3 }],
    });
  });
});
