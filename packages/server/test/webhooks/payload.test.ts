import { describe, expect, it } from 'vitest';
import {
  MAX_BODY_BYTES,
  MAX_PART_BYTES,
  messageReceived,
  type PayloadMessage,
} from '../../src/webhooks/payload.ts';

const inbox = { id: 'inb_1', address: 'calm.otter17@mayfly.test', labels: { run: '42' } };
const code = { value: '123456', context: 'Your code is 123456' };
const link = { href: 'https://example.com/verify?t=1', text: 'Verify', kind: 'verify' as const };
const attachment = {
  id: 'att_1',
  filename: 'invoice.pdf',
  contentType: 'application/pdf',
  parameters: {},
  size: 9,
  disposition: 'attachment' as const,
  contentId: null,
  sha256: 'ab'.repeat(32),
};

function message(content: Partial<PayloadMessage['content']> = {}, subject = 'Welcome'): PayloadMessage {
  return {
    id: 'msg_1',
    inboxId: 'inb_1',
    receivedAt: Date.UTC(2026, 0, 2, 3, 4, 5, 6),
    size: 2500,
    rcptTo: ['calm.otter17+reset@mayfly.test'],
    isToOther: true,
    summary: {
      from: { address: 'shop@example.com', name: 'Shop' },
      to: [{ address: 'calm.otter17@mayfly.test', name: '' }],
      cc: [],
      subject,
      preview: 'Your code is 123456',
      attachmentCount: 1,
      inlineCount: 0,
      codes: [code],
      via: 'ses',
    },
    content: { html: '<p>Hi</p>', text: 'Hi', links: [link], attachments: [attachment], ...content },
  };
}

const eventOf = (content: Partial<PayloadMessage['content']> = {}, subject?: string) =>
  messageReceived('evt_1', inbox, message(content, subject), 'http://127.0.0.1:8025');

const bytes = (text: string | null) => Buffer.byteLength(text ?? '');

describe('the body of a message.received delivery', () => {
  it('tells the inbox and the message in the names of the API', () => {
    const timestamp = '2026-01-02T03:04:05.006Z';
    const url = 'http://127.0.0.1:8025/v1/inboxes/inb_1/messages/msg_1';
    const sent = {
      ...{ id: 'msg_1', inboxId: 'inb_1', receivedAt: timestamp, size: 2500, url, truncated: false },
      ...message().summary,
      ...{ hasAttachments: true, readAt: null, tags: [], rcptTo: ['calm.otter17+reset@mayfly.test'] },
      ...{ html: '<p>Hi</p>', text: 'Hi', links: [link] },
      attachments: [{ ...attachment, url: `${url}/attachments/att_1` }],
    };
    const data = { inbox, message: sent };
    // Nothing of the records but what it names: no token, no account, no headers.
    const record = { ...message(), envelope: { helo: 'secret-host' }, parseError: null };
    const owner = { ...inbox, accountId: 'acc_1', tokenHash: 'hash', version: 3 };
    const event = messageReceived('evt_1', owner, record, 'http://127.0.0.1:8025');
    expect(event).toEqual({ id: 'evt_1', type: 'message.received', timestamp, data });
  });

  it.each([
    ['a long html', 10, 400_000],
    ['a long text', 400_000, 10],
    ['both long', 400_000, 400_000],
    ['text just over half and a long html', MAX_BODY_BYTES / 2 + 1, 400_000],
    ['one byte too many', MAX_BODY_BYTES / 2, MAX_BODY_BYTES / 2 + 1],
  ])('cuts html and text to 256 KiB together and says so: %s', (_what, textLength, htmlLength) => {
    const { message: sent } = eventOf({ text: 't'.repeat(textLength), html: 'h'.repeat(htmlLength) }).data;
    expect(sent.truncated).toBe(true);
    expect(bytes(sent.text) + bytes(sent.html)).toBe(MAX_BODY_BYTES);
    expect(sent.url).toBe('http://127.0.0.1:8025/v1/inboxes/inb_1/messages/msg_1');
    if (textLength <= MAX_BODY_BYTES / 2) expect(sent.text).toHaveLength(textLength);
    if (htmlLength <= MAX_BODY_BYTES / 2) expect(sent.html).toHaveLength(htmlLength);
  });

  it('leaves 256 KiB of html and text together as they are', () => {
    const whole = { text: 't'.repeat(1000), html: 'h'.repeat(MAX_BODY_BYTES - 1000) };
    const { message: sent } = eventOf(whole).data;
    expect(sent.truncated).toBe(false);
    expect(sent.html).toHaveLength(MAX_BODY_BYTES - 1000);
  });

  it.each(['é', '€', '🦋'])('cuts between characters, never inside %s', (character) => {
    for (const shift of ['', 'a', 'ab', 'abc']) {
      const text = shift + character.repeat(200_000);
      const { message: sent } = eventOf({ text, html: null }).data;
      expect(text.startsWith(sent.text ?? '')).toBe(true);
      expect(sent.text?.isWellFormed()).toBe(true);
      expect(bytes(sent.text)).toBeLessThanOrEqual(MAX_BODY_BYTES);
      expect(bytes(sent.text)).toBeGreaterThan(MAX_BODY_BYTES - bytes(character));
    }
  });

  it('stays small for a mail with a hundred thousand links, and a subject without end', () => {
    const event = eventOf({ links: Array.from({ length: 100_000 }, () => link) }, 'x'.repeat(1_000_000));
    const { message: sent } = event.data;
    expect(sent.truncated).toBe(true);
    expect(sent.links.length).toBeGreaterThan(100);
    expect(bytes(JSON.stringify(sent.links))).toBeLessThanOrEqual(MAX_PART_BYTES + 1);
    expect(sent.attachments).toHaveLength(1);
    expect(bytes(JSON.stringify(event))).toBeLessThan(3 * MAX_PART_BYTES);
  });
});
