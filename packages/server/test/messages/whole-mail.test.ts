import { beforeAll, expect, it } from 'vitest';
import type { Body } from '../support/api-client.ts';
import { describeOnEngines, useServers } from '../support/nodes.ts';
import { smtpClient } from '../support/smtp-script.ts';
import type { TestApp } from '../support/start-app.ts';

/** One red pixel. */
const PNG = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==',
  'base64',
);
const HTML = `<html><head><title>Not visible</title><style>p { color: red }</style></head><body>
<p>Hello &amp; welcome.</p><p style="display:none">Hidden words</p>
<img src="cid:logo@shop.example" alt="Our logo"><img src="https://shop.example/open.gif" alt="">
<a href="https://shop.example/confirm?t=1&amp;utm_source=mail">Confirm</a></body></html>`;
const FORWARDED = [
  'From: Bo <bo@partner.example>',
  'To: app@shop.example',
  'Date: Fri, 06 Feb 2026 09:00:00 +0100',
  'Subject: The original',
  'Content-Type: text/html; charset=utf-8',
  '',
  '<p>Your code is 482913.</p><a href="https://partner.example/reset?t=9">Reset the password</a>',
  '',
].join('\r\n');

describeOnEngines('a mail that an application sent, read on another server', (engine) => {
  const { first, last } = useServers(engine);
  let inbox: Awaited<ReturnType<TestApp['createInbox']>>;
  let mail: Body;

  beforeAll(async () => {
    inbox = await first().createInbox();
    await first().send({
      from: 'Shop <no-reply@shop.example>',
      sender: 'mailer@relay.example',
      to: inbox.address,
      subject: 'Welcome',
      text: 'Hello & welcome.',
      html: HTML,
      icalEvent: { method: 'REQUEST', content: 'BEGIN:VCALENDAR\r\nEND:VCALENDAR\r\n' },
      attachments: [
        { filename: 'logo.png', content: PNG, cid: 'logo@shop.example', contentDisposition: 'inline' },
        {
          filename: 'prices.csv',
          content: 'a;b\r\n',
          contentType: 'text/csv; charset=utf-8; header=present',
        },
        { contentType: 'message/rfc822', content: FORWARDED, filename: 'original.eml' },
      ],
    });
    const { body } = await last().api('POST', `/v1/inboxes/${inbox.id}/wait`, { as: inbox.token, body: {} });
    [mail] = body.messages;
  });

  it('is read in full: visible words, images, structure, attachments and the message within', async () => {
    const attached = new Map<string, Body>(mail.attachments.map((one: Body) => [one.contentType, one]));
    expect(mail).toMatchObject({
      sender: { address: 'mailer@relay.example', name: '' },
      htmlText: expect.stringContaining('Hello & welcome.'),
      images: [
        { src: 'cid:logo@shop.example', alt: 'Our logo' },
        { src: 'https://shop.example/open.gif', alt: '' },
      ],
    });
    expect(mail.htmlText).not.toMatch(/Not visible|color|Hidden words|</);
    expect(mail.structure[0].contentType).toBe('multipart/mixed');
    const types = mail.structure.map(({ contentType }: Body) => contentType);
    const inside = ['image/png', 'text/csv', 'message/rfc822', 'text/calendar'];
    expect(types).toEqual(expect.arrayContaining(['text/plain', 'text/html', ...inside]));
    expect(mail.inlineCount).toBeGreaterThanOrEqual(1);
    expect(inside.map((type) => attached.get(type))).toMatchObject([
      { filename: 'logo.png', contentId: 'logo@shop.example', disposition: 'inline' },
      {
        ...{ filename: 'prices.csv', disposition: 'attachment' },
        parameters: { charset: 'utf-8', header: 'present' },
      },
      {
        message: {
          ...{ subject: 'The original', from: { address: 'bo@partner.example', name: 'Bo' } },
          codes: [{ value: '482913' }],
          links: [{ href: 'https://partner.example/reset?t=9', kind: 'reset' }],
        },
      },
      { parameters: { method: 'REQUEST' } },
    ]);
    const { pathname } = new URL(attached.get('text/csv').url, last().url);
    const { bytes } = await last().api('GET', pathname, { as: inbox.token });
    expect(Buffer.from(bytes).toString()).toBe('a;b\r\n');
  });

  it('is a page in a browser, by a link of any server, with its own images and none of others', async () => {
    const path = `/v1/inboxes/${inbox.id}/messages/${mail.id}/preview`;
    const { body } = await first().api('POST', path, { as: inbox.token, body: {} });
    expect(body.remoteCount).toBe(1);
    const { pathname } = new URL(body.url, first().url);
    const page = await fetch(`${last().url}${pathname}`);
    expect(page.status).toBe(200);
    expect(page.headers.get('content-security-policy')).toContain("default-src 'none'");
    const html = await page.text();
    const [src] = /[^"']*\/att_\d+(?=["'])/.exec(html) ?? [];
    const image = await fetch(new URL(src ?? '', page.url));
    expect(Buffer.from(await image.arrayBuffer()).equals(PNG)).toBe(true);
    expect(html).toContain('Hello &amp; welcome.');
  });

  it('that was refused is listed with the reason, on any server', async () => {
    const typo = inbox.address.replace('@', 'x@');
    const client = await smtpClient(first().smtp.port);
    await client.play([
      '→ 220',
      'EHLO app.shop.example → 250',
      'MAIL FROM:<app@shop.example> → 250',
      `RCPT TO:<${typo}> → 550 5.1.1`,
      'QUIT → 221',
    ]);
    const path = `/v1/refusals?address=${encodeURIComponent(typo)}`;
    await expect
      .poll(async () => (await last().api('GET', path)).body.refusals)
      .toMatchObject([
        {
          ...{
            address: typo,
            mailFrom: 'app@shop.example',
            helo: 'app.shop.example',
            remoteAddress: '127.0.0.1',
          },
          ...{ reply: '550 5.1.1 No such inbox here', fault: null },
        },
      ]);
    const { body } = await last().api('POST', `/v1/inboxes/${inbox.id}/wait`, {
      body: { match: { subject: 'reset' }, timeoutSeconds: 0 },
    });
    expect(body.explanation.nearMisses).toMatchObject([{ address: typo, outcome: 'refused', times: 1 }]);
  });
});
