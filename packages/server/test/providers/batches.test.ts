import { beforeEach, expect, it } from 'vitest';
import { describeOnEngines, useServers } from '../support/nodes.ts';
import { TEST_KEY } from '../support/start-app.ts';
import { newInbox } from './sdks.ts';

/** More than two times what is stored at once. */
const MANY = 120;

type Mail = { to: string; n: number };

/** Of each provider: the path of its batches, the header with the key, and the body for mails to these addresses. */
const BATCHES: Record<string, [string, Record<string, string>, (mails: Mail[]) => object]> = {
  sendgrid: [
    '/v3/mail/send',
    { authorization: `Bearer ${TEST_KEY}` },
    (mails) => ({
      ...{ from: { email: 'a@b.example' }, content: [{ type: 'text/plain', value: 'x' }] },
      personalizations: mails.map(({ to, n }) => ({ to: [{ email: to }], subject: `mail ${n}` })),
    }),
  ],
  resend: [
    '/emails/batch',
    { authorization: `Bearer ${TEST_KEY}` },
    (mails) =>
      mails.slice(0, 100).map(({ to, n }) => ({ from: 'a@b.example', to, subject: `mail ${n}`, text: 'x' })),
  ],
  postmark: [
    '/email/batch',
    { 'x-postmark-server-token': TEST_KEY },
    (mails) =>
      mails.map(({ to, n }) => ({ From: 'a@b.example', To: to, Subject: `mail ${n}`, TextBody: 'x' })),
  ],
};

describeOnEngines('a batch', (engine) => {
  const app = useServers(engine).first();
  let inbox: { id: string; address: string };
  beforeEach(async () => {
    inbox = await app.createInbox();
  });

  const subjects = async (of: { id: string }): Promise<string[]> =>
    (await app.messages(of, '?limit=200')).map(({ subject }) => subject).toReversed();
  const names = (count: number) => Array.from({ length: count }, (_, n) => `mail ${n}`);
  const mailsTo = (to: (n: number) => string, count = MANY): Mail[] =>
    Array.from({ length: count }, (_, n) => ({ to: to(n), n }));

  function send(provider: string, mails: Mail[]) {
    const [path = '', headers = {}, body] = BATCHES[provider] ?? [];
    return app.api('POST', `/providers/${provider}${path}`, { as: null, headers, body: body?.(mails) });
  }

  it.each(Object.keys(BATCHES))('of %s arrives in its order', async (provider) => {
    const count = provider === 'resend' ? 100 : MANY;
    const mails = mailsTo(() => inbox.address);
    expect((await send(provider, mails)).status).toBeLessThan(300);
    expect(await subjects(inbox)).toEqual(names(count));
  });

  it.each([
    // The first mail alone, and then groups of 50.
    ['sendgrid', 51],
    ['postmark', 51],
    ['resend', 0],
  ])(
    'of %s that meets a rate limit sends nothing of that group, after %i mails',
    async (provider, before) => {
      const other = await newInbox(app);
      await other.limitOnce('Too many requests');
      const mails = mailsTo((n) => (n === 60 ? other.address : inbox.address), 90);
      expect((await send(provider, mails)).status).toBe(429);
      expect(await subjects(inbox)).toEqual(names(before));
      expect((await send(provider, mails)).status).toBeLessThan(300);
      expect(await subjects(other)).toEqual(['mail 60']);
      expect(await subjects(inbox)).toHaveLength(before + 89);
    },
  );

  it('whose templates write more than a request may is refused before it is in memory', async () => {
    const ask = (path: string, body: object) => app.api('POST', `/providers/sendgrid/v3${path}`, { body });
    await ask('/templates', { id: 'd-large', name: 'large' });
    const html_content = `{{#each all}}${'x'.repeat(200_000)}{{/each}}`;
    const version = { name: 'first', subject: 'Large', html_content };
    expect((await ask('/templates/d-large/versions', version)).status).toBe(201);
    const one = { to: [{ email: inbox.address }], dynamic_template_data: { all: Array(40).fill(1) } };
    const mail = { from: { email: 'a@b.example' }, template_id: 'd-large' };
    const refused = await ask('/mail/send', { ...mail, personalizations: Array(12).fill(one) });
    expect(refused.status).toBe(400);
    expect(JSON.stringify(refused.body)).toContain('fewer recipients');
    expect(await subjects(inbox)).toEqual([]);
    expect((await ask('/mail/send', { ...mail, personalizations: [one] })).status).toBe(202);
  });

  it('of SendGrid drops recipients that nobody has, and is refused when nobody is left', async () => {
    const some = mailsTo((n) => (n === 5 ? inbox.address : 'nobody@mayfly.test'));
    expect((await send('sendgrid', some)).status).toBe(202);
    expect(await subjects(inbox)).toEqual(['mail 5']);
    const none = mailsTo(() => 'nobody@mayfly.test');
    expect((await send('sendgrid', none)).status).toBe(400);
  });
});
