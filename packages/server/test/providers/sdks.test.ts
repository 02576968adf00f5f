import { afterAll, describe, expect, it } from 'vitest';
import { startApp, TEST_KEY } from '../support/start-app.ts';
import { mailgunSdk, newInbox, postmarkSdk, sendgridSdk } from './sdks.ts';

/* What each SDK does beyond sending one mail; for Amazon SES and Resend in files of their own. */

const app = await startApp({ MAYFLY_DOMAINS: 'mayfly.test' });
afterAll(() => app.stop());

const FROM = 'The Shop <shop@example.com>';

describe('@sendgrid/mail, unchanged but for the address', () => {
  const { mail, client } = sendgridSdk(app.url, TEST_KEY);

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
    const text = expect.stringContaining('Ada owes $1 & $2. Best wishes');
    expect(await ada.only()).toMatchObject({ subject: 'Hello Ada', text, to: [{ address: ada.address }] });
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
    const qs = { generations: 'dynamic' };
    const [, listed] = await client.request({ method: 'GET', url: '/v3/templates', qs });
    expect(listed).toMatchObject({ result: [{ id, name: 'welcome', versions: [{ active: 1 }] }] });
    await client.request({ method: 'DELETE', url: `/v3/templates/${id}` });
    const errors = [{ field: 'template_id' }];
    const again = mail.send({ to: inbox.address, from: FROM, templateId: id });
    await expect(again).rejects.toMatchObject({ code: 400, response: { body: { errors } } });
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

describe('postmark, unchanged but for requestHost', () => {
  const postmark = postmarkSdk(app.url, TEST_KEY);

  it('sends a batch, of which each mail succeeds or fails alone', async () => {
    const inbox = await newInbox(app);
    const mail = { From: FROM, Subject: 'Hi', TextBody: 'Hi' };
    // More than are stored at once.
    const recipients = Array(40).fill([inbox.address, 'not an address', 'nobody@mayfly.test']).flat();
    const answers = await postmark.sendEmailBatch(recipients.map((To) => ({ ...mail, To })));
    const expected = [{ ErrorCode: 0, To: inbox.address }, { ErrorCode: 300 }, { ErrorCode: 412 }];
    expect(answers).toMatchObject(Array(40).fill(expected).flat());
    expect(await inbox.messages()).toHaveLength(40);
  });

  it('keeps templates and layouts, and sends with them alone and in a batch', async () => {
    await postmark.createTemplate({
      ...{ Name: 'Layout', Alias: 'layout', TemplateType: 'Layout' as never },
      ...{ HtmlBody: '<main>{{{@content}}}</main>{{year}}', TextBody: '{{{@content}}} --' },
    });
    const { TemplateId } = await postmark.createTemplate({
      ...{ Name: 'Welcome', Alias: 'welcome', Subject: 'Welcome {{name}}', LayoutTemplate: 'layout' },
      HtmlBody:
        '{{name}} {{#each items}}{{.}};{{/each}}{{#company}} {{name}} {{../year}}{{/company}}{{^pro}} free{{/pro}}',
      TextBody: 'Dear {{name}}',
    });
    const TemplateModel = { name: 'A & B', year: 2026, items: ['x', 'y'], company: { name: 'C' } };
    const [one, two] = await Promise.all([newInbox(app), newInbox(app)]);
    const mail = { From: FROM, To: one.address, TemplateAlias: 'welcome', TemplateModel };
    await postmark.sendEmailWithTemplate(mail);
    const message = await one.only();
    const text = expect.stringContaining('Dear A & B --');
    expect(message).toMatchObject({ subject: 'Welcome A & B', text });
    expect(message.html).toContain('<main>A &amp; B x;y; C 2026 free</main>2026');
    const answers = await postmark.sendEmailBatchWithTemplates([
      { From: FROM, To: two.address, TemplateId, TemplateModel },
      { From: FROM, To: two.address, TemplateId: 1, TemplateModel },
    ]);
    expect(answers).toMatchObject([{ ErrorCode: 0 }, { ErrorCode: 1101 }]);
    expect(await postmark.getTemplate('welcome')).toMatchObject({ TemplateId, Subject: 'Welcome {{name}}' });
    await postmark.editTemplate(TemplateId, { Subject: 'Changed' });
    const { TotalCount, Templates } = await postmark.getTemplates();
    expect(TotalCount).toBe(2);
    expect(Templates).toContainEqual(expect.objectContaining({ Alias: 'welcome', Subject: 'Changed' }));
    const template = { Subject: '{{a}}', HtmlBody: '{{#if}', TestRenderModel: { a: 1 } };
    const valid = await postmark.validateTemplate(template);
    const parts = {
      Subject: { ContentIsValid: true, RenderedContent: '1' },
      HtmlBody: { ContentIsValid: false },
    };
    expect(valid).toMatchObject({ AllContentIsValid: false, ...parts });
    expect(await postmark.deleteTemplate('welcome')).toMatchObject({ ErrorCode: 0 });
    await expect(postmark.getTemplate(TemplateId)).rejects.toMatchObject({ code: 1101, statusCode: 422 });
  });
});

describe('mailgun.js, unchanged but for its url', () => {
  const DOMAIN = 'mg.example.com';
  const mailgun = mailgunSdk(app.url, TEST_KEY);

  it('sends a mail that the application composed, without its Bcc', async () => {
    const inbox = await newInbox(app);
    const message = `From: ${FROM}\nTo: someone@example.org\nBcc: hidden@example.org\nSubject: =?utf-8?q?Gr=C3=BC=C3=9Fe?=\nMessage-ID: <own@mg.example.com>\n\nHello\n`;
    const answer = await mailgun.messages.create(DOMAIN, { to: inbox.address, message });
    expect(answer).toMatchObject({ id: '<own@mg.example.com>' });
    const read = await inbox.only();
    expect(read).toMatchObject({ subject: 'Grüße', to: [{ address: 'someone@example.org' }] });
    expect(JSON.stringify(read.headers)).not.toContain('hidden@example.org');
  });

  it('makes a mail for each recipient of a batch, with its variables', async () => {
    const [ada, bob] = await Promise.all([newInbox(app), newInbox(app)]);
    await mailgun.messages.create(DOMAIN, {
      ...{ from: FROM, to: [`Ada Lovelace <${ada.address}>`, bob.address] },
      ...{ subject: 'Hi %recipient.name%', text: '%recipient.name% %recipient_fname%: %recipient.id%%' },
      'recipient-variables': JSON.stringify({
        [ada.address]: { name: 'Ada', id: 1 },
        [bob.address]: { name: 'Bob', id: '$&' },
      }),
    });
    const to = [{ name: 'Ada Lovelace', address: ada.address }];
    const text = expect.stringContaining('Ada Ada: 1%');
    expect(await ada.only()).toMatchObject({ subject: 'Hi Ada', to, text });
    expect(await bob.only()).toMatchObject({ text: expect.stringContaining('Bob : $&%') });
  });

  it('keeps templates with versions and sends with them', async () => {
    const { domainTemplates: templates } = mailgun.domains;
    const template = 'Hi {{name}}{{#if (eq plan "pro")}}, pro{{/if}}';
    const first = { description: 'first', template, tag: 'v1', engine: 'handlebars' as never };
    const made = await templates.create(DOMAIN, { name: 'Welcome', ...first });
    expect(made).toMatchObject({ name: 'welcome', version: { tag: 'v1', active: true } });
    await templates.createVersion(DOMAIN, 'welcome', { template: 'Bye {{name}}', tag: 'v2' });
    const [one, two] = await Promise.all([newInbox(app), newInbox(app)]);
    const mail = { from: FROM, subject: 'T', template: 'welcome' };
    const variables = JSON.stringify({ name: 'A & B', plan: 'pro' });
    await mailgun.messages.create(DOMAIN, { ...mail, to: one.address, 't:variables': variables });
    expect((await one.only()).html).toContain('Hi A &amp; B, pro');
    await mailgun.messages.create(DOMAIN, { ...mail, to: two.address, 't:version': 'v2', 'v:name': 'Ada' });
    expect((await two.only()).html).toContain('Bye Ada');
    await templates.updateVersion(DOMAIN, 'welcome', 'v2', { active: 'yes' as never });
    const active = await templates.get(DOMAIN, 'welcome', { active: 'yes' } as never);
    expect(active).toMatchObject({ version: { tag: 'v2' } });
    expect((await templates.listVersions(DOMAIN, 'welcome')).template.versions).toHaveLength(2);
    expect((await templates.list(DOMAIN)).items).toMatchObject([{ name: 'welcome' }]);
    const elsewhere = mailgun.messages.create('other.example.com', { ...mail, to: one.address });
    await expect(elsewhere).rejects.toMatchObject({ status: 400 });
    await templates.destroy(DOMAIN, 'welcome');
    await expect(templates.get(DOMAIN, 'welcome')).rejects.toMatchObject({ status: 404 });
  });

  it('takes a mail in test mode and delivers nothing', async () => {
    const inbox = await newInbox(app);
    const mail = { from: FROM, to: inbox.address, subject: 'Hi', text: 'Hi', 'o:testmode': true };
    expect(await mailgun.messages.create(DOMAIN, mail)).toMatchObject({ status: 200 });
    expect(await inbox.messages()).toEqual([]);
  });
});
