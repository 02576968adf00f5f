import { createHash, randomBytes } from 'node:crypto';
import { ApiError, Mayfly } from '@mayfly/client';
import { afterAll, describe, expect, it } from 'vitest';
import { startApp, TEST_KEY } from './support/start-app.ts';

const FORWARDED = 'From: bo@partner.example\r\nSubject: Original\r\n\r\nYour code is 7319.\r\n';

const app = await startApp();
const mayfly = new Mayfly({ url: app.url, apiKey: TEST_KEY });
afterAll(() => app.stop());

/** What a user does with the client: make an inbox, have a real program send real mail to it, read it back, delete it. */
describe('the main journey', () => {
  const pdf = randomBytes(70_000);
  const logo = randomBytes(3_000);

  it('returns a mail with html, text, attachments, an inline image and a UTF-8 subject complete', async () => {
    const created = await mayfly.createInbox({ ttlMinutes: 10, labels: { run: 'e2e' } });
    const inbox = mayfly.inbox(created.id, created.token);
    await inbox.refresh();
    const [local, domain] = inbox.address.split('@');

    await app.send({
      from: 'Café Größe <hello@shop.example>',
      to: `Calm <${local}+signup@${domain}>, other@${domain}`,
      cc: 'cc@shop.example',
      envelope: { from: 'hello@shop.example', to: `${local}+signup@${domain}` },
      replyTo: 'reply@shop.example',
      date: new Date('2026-11-21T10:00:00Z'),
      messageId: '<one@shop.example>',
      inReplyTo: '<zero@shop.example>',
      references: ['<a@shop.example>', '<zero@shop.example>'],
      subject: 'Bestätigung – 482910 ist dein Code 🎉',
      text: 'Dein Code ist 482910.\n.\nEine Zeile mit Punkt.',
      html: '<p>Dein Code ist <b>482910</b>.</p><p><a href="https://shop.example/verify?a=1&amp;b=%20x">E-Mail bestätigen</a></p><img src="cid:logo@shop">',
      attachments: [
        { filename: 'Rechnung für März.pdf', content: pdf, contentType: 'application/pdf' },
        { filename: 'agb.txt', content: 'Zeile\r\n', contentType: 'text/plain' },
        { filename: 'logo.png', content: logo, contentType: 'image/png', cid: 'logo@shop' },
        { filename: 'original.eml', content: FORWARDED, contentType: 'message/rfc822' },
      ],
    });

    const [summary] = await inbox.messages();
    expect(summary).toMatchObject({
      inboxId: inbox.id,
      from: { address: 'hello@shop.example', name: 'Café Größe' },
      to: [
        { address: `${local}+signup@${domain}`, name: 'Calm' },
        { address: `other@${domain}`, name: '' },
      ],
      cc: [{ address: 'cc@shop.example', name: '' }],
      subject: 'Bestätigung – 482910 ist dein Code 🎉',
      preview: expect.stringMatching(/^Dein Code ist 482910\./),
      codes: [{ value: '482910' }],
      attachmentCount: 2,
      inlineCount: 2,
    });
    const message = await inbox.read(summary?.id ?? '');
    expect(message).toMatchObject({
      replyTo: [{ address: 'reply@shop.example', name: '' }],
      date: '2026-11-21T10:00:00.000Z',
      rfcMessageId: '<one@shop.example>',
      inReplyTo: '<zero@shop.example>',
      references: ['<a@shop.example>', '<zero@shop.example>'],
      text: expect.stringContaining('.\nEine Zeile mit Punkt.'),
      html: expect.stringContaining('<b>482910</b>'),
      htmlText: 'Dein Code ist 482910.\nE-Mail bestätigen',
      images: [{ src: 'cid:logo@shop', alt: null }],
      links: [{ href: 'https://shop.example/verify?a=1&b=%20x', text: 'E-Mail bestätigen', kind: 'verify' }],
      envelope: { mailFrom: 'hello@shop.example', rcptTo: [`${local}+signup@${domain}`] },
      parseError: null,
    });
    const types = ['multipart/mixed', 'text/plain', 'text/html', 'image/png', 'application/pdf'];
    expect(message.structure?.map(({ contentType }) => contentType)).toEqual(expect.arrayContaining(types));
    const within = { subject: 'Original', codes: [{ value: '7319' }] };
    for (const [name, bytes, fields] of [
      ['original.eml', Buffer.from(FORWARDED), { message: within }],
      ['Rechnung für März.pdf', pdf, { disposition: 'attachment' }],
      ['logo.png', logo, { disposition: 'inline', contentId: 'logo@shop' }],
      ['agb.txt', Buffer.from('Zeile\r\n'), { parameters: { name: 'agb.txt' } }],
    ] as const) {
      const found = message.attachments.find(({ filename }) => filename === name);
      if (!found) throw new Error(`${name} is missing`);
      const sha256 = createHash('sha256').update(bytes).digest('hex');
      expect(found).toMatchObject({ size: bytes.length, sha256, ...fields });
      expect(Buffer.from(await message.attachment(found)).equals(bytes), name).toBe(true);
    }
  });

  it('shows one mail in two inboxes, and in neither the address of the other', async () => {
    const [one, two] = [await mayfly.createInbox(), await mayfly.createInbox()];
    const mail = { from: 'a@b.example', subject: 'Both', text: 'hello' };
    await app.send({ ...mail, to: one.address, bcc: two.address });
    for (const inbox of [one, two])
      expect((await inbox.waitForMessage()).envelope.rcptTo).toEqual([inbox.address]);
  });

  it('rejects mail for a deleted inbox like mail for an unknown one', async () => {
    const inbox = await mayfly.createInbox();
    await inbox.delete();
    const refusal = async (to: string) => {
      const error = await app.send({ from: 'a@b.example', to, text: 'x' }).catch((caught) => caught);
      return String(error.response).replaceAll(to, 'ADDRESS');
    };
    const deleted = await refusal(inbox.address);
    expect(deleted).toMatch(/^550 5\.1\.1/);
    expect(await refusal('never.was@mayfly.test')).toBe(deleted);
    const statusOf = (promise: Promise<unknown>) =>
      promise.catch((caught) => caught instanceof ApiError && caught.status);
    expect(await statusOf(mayfly.getInbox(inbox.id))).toBe(404);
    expect(await statusOf(mayfly.inbox(inbox.id, inbox.token).refresh())).toBe(401);
  });
});
