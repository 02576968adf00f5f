import { afterAll, describe, expect, it } from 'vitest';
import { startApp, TEST_KEY } from '../support/start-app.ts';
import { newInbox, sendgridSdk } from './sdks.ts';

const app = await startApp({ MAYFLY_DOMAINS: 'mayfly.test' });
const { mail, client } = sendgridSdk(app.url, TEST_KEY);
afterAll(() => app.stop());

const FROM = { email: 'shop@example.com', name: 'The Shop' };

describe('@sendgrid/mail, unchanged but for the address', () => {
  it('makes a mail of its own of each personalization, with its substitutions and without the others', async () => {
    const [ada, bob, copy] = await Promise.all([newInbox(app), newInbox(app), newInbox(app)]);
    await mail.send({
      ...{ from: FROM, subject: 'Hello {{name}}', text: '{{name}} owes {{sum}}. {{greeting}}' },
      sections: { '{{greeting}}': 'Best wishes' },
      personalizations: [
        { to: ada.address, bcc: copy.address, substitutions: { name: 'Ada', sum: '$1 & $2' } },
        { to: bob.address, subject: 'Bob, {{name}}', substitutions: { name: 'Bob', sum: '3' } },
      ],
    });
    expect(await ada.only()).toMatchObject({
      ...{ subject: 'Hello Ada', text: expect.stringContaining('Ada owes $1 & $2. Best wishes') },
      to: [{ address: ada.address }],
    });
    expect(await bob.only()).toMatchObject({ subject: 'Bob, Bob', to: [{ address: bob.address }] });
    const blind = await copy.only();
    expect(blind.headers.map(({ name }: { name: string }) => name.toLowerCase())).not.toContain('bcc');
    expect(blind.to).toMatchObject([{ address: ada.address }]);
  });

  it('sends to many with sendMultiple, none of whom sees another', async () => {
    const [ada, bob] = await Promise.all([newInbox(app), newInbox(app)]);
    await mail.sendMultiple({ to: [ada.address, bob.address], from: FROM, subject: 'News', text: 'News' });
    expect((await bob.only()).to).toMatchObject([{ address: bob.address }]);
  });

  it('renders dynamic templates, created by @sendgrid/client or with the id that the application knows', async () => {
    const [{ statusCode }, { id }] = (await client.request({
      ...{ method: 'POST', url: '/v3/templates' },
      body: { id: `d-${'0'.repeat(32)}`, name: 'welcome', generation: 'dynamic' },
    })) as unknown as [{ statusCode: number }, { id: string }];
    expect([statusCode, id]).toEqual([201, `d-${'0'.repeat(32)}`]);
    await client.request({
      ...{ method: 'POST', url: `/v3/templates/${id}/versions` },
      body: {
        ...{ name: 'first', active: 1, subject: 'Welcome {{name}}', plain_content: 'Dear {{name}}' },
        html_content:
          '{{#equals plan "pro"}}Pro{{else}}Free{{/equals}} {{insert nick "default=friend"}} {{name}} {{#each items}}{{this}};{{/each}} {{formatDate at "MMMM DD, YYYY h:mm A" "+0200"}}',
      },
    });
    const inbox = await newInbox(app);
    const data = { name: 'A & B', plan: 'pro', items: [1, 2], at: '2026-03-04T21:05:06Z' };
    await mail.send({ to: inbox.address, from: FROM, templateId: id, dynamicTemplateData: data });
    const message = await inbox.only();
    expect(message).toMatchObject({ subject: 'Welcome A & B', text: expect.stringContaining('Dear A & B') });
    expect(message.html).toContain('Pro friend A &amp; B 1;2; March 04, 2026 11:05 PM');
    const [, listed] = await client.request({
      method: 'GET',
      url: '/v3/templates',
      qs: { generations: 'dynamic' },
    });
    expect(listed).toMatchObject({ result: [{ id, name: 'welcome', versions: [{ active: 1 }] }] });
    await client.request({ method: 'DELETE', url: `/v3/templates/${id}` });
    await expect(mail.send({ to: inbox.address, from: FROM, templateId: id })).rejects.toMatchObject({
      ...{ code: 400, response: { body: { errors: [{ field: 'template_id' }] } } },
    });
  });

  it('checks a mail in sandbox mode, answers 200 and delivers nothing', async () => {
    const inbox = await newInbox(app);
    const [answer] = await mail.send({
      ...{ to: inbox.address, from: FROM, subject: 'Hi', text: 'Hi' },
      mailSettings: { sandboxMode: { enable: true } },
    });
    expect(answer.statusCode).toBe(200);
    expect(await inbox.messages()).toEqual([]);
  });

  it('names all missing fields at once', async () => {
    const errors = [
      { field: 'from.email' },
      { field: 'personalizations', message: expect.stringContaining('at least one personalization') },
      ...[{ field: 'subject' }, { field: 'content' }],
    ];
    const request = client.request({ method: 'POST', url: '/v3/mail/send', body: {} });
    await expect(request).rejects.toMatchObject({ code: 400, response: { body: { errors } } });
  });
});
