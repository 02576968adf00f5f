import { afterAll, describe, expect, it } from 'vitest';
import { startApp, TEST_KEY } from '../support/start-app.ts';
import { mailgunSdk, newInbox } from './sdks.ts';

const DOMAIN = 'mg.example.com';

const app = await startApp({ MAYFLY_DOMAINS: 'mayfly.test' });
const mailgun = mailgunSdk(app.url, TEST_KEY);
afterAll(() => app.stop());

const FROM = 'The Shop <shop@mg.example.com>';

describe('mailgun.js, unchanged but for its url', () => {
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
    expect(await ada.only()).toMatchObject({
      ...{ subject: 'Hi Ada', to: [{ name: 'Ada Lovelace', address: ada.address }] },
      text: expect.stringContaining('Ada Ada: 1%'),
    });
    expect(await bob.only()).toMatchObject({ text: expect.stringContaining('Bob : $&%') });
  });

  it('keeps templates with versions and sends with them', async () => {
    const { domainTemplates: templates } = mailgun.domains;
    const made = await templates.create(DOMAIN, {
      ...{
        name: 'Welcome',
        description: 'first',
        template: 'Hi {{name}}{{#if (eq plan "pro")}}, pro{{/if}}',
      },
      ...{ tag: 'v1', engine: 'handlebars' as never },
    });
    expect(made).toMatchObject({ name: 'welcome', version: { tag: 'v1', active: true } });
    await templates.createVersion(DOMAIN, 'welcome', { template: 'Bye {{name}}', tag: 'v2' });
    const [one, two] = await Promise.all([newInbox(app), newInbox(app)]);
    const mail = { from: FROM, subject: 'T', template: 'welcome' };
    await mailgun.messages.create(DOMAIN, {
      ...{ ...mail, to: one.address, 't:variables': JSON.stringify({ name: 'A & B', plan: 'pro' }) },
    });
    expect((await one.only()).html).toContain('Hi A &amp; B, pro');
    await mailgun.messages.create(DOMAIN, { ...mail, to: two.address, 't:version': 'v2', 'v:name': 'Ada' });
    expect((await two.only()).html).toContain('Bye Ada');
    await templates.updateVersion(DOMAIN, 'welcome', 'v2', { active: 'yes' as never });
    expect(await templates.get(DOMAIN, 'welcome', { active: 'yes' } as never)).toMatchObject({
      version: { tag: 'v2' },
    });
    const { template } = await templates.listVersions(DOMAIN, 'welcome');
    expect(template.versions).toHaveLength(2);
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
