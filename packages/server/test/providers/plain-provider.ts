import { type Call, PROVIDERS, type Provider, Refused } from '@mayfly/providers';
import { compose, type MailFields } from '@mayfly/providers/compose';
import { afterAll, beforeAll } from 'vitest';

const json = (value: unknown, status = 200) => ({
  status,
  type: 'application/json',
  body: JSON.stringify(value),
});

const posting = (value: unknown) => ({
  headers: { 'content-type': 'application/json' },
  body: Buffer.from(JSON.stringify(value)),
});

interface Sent extends MailFields {
  mailFrom?: string;
  recipients: string[];
  sendAt?: number;
}

const sentIn = ({ body }: Call): Sent => JSON.parse(Buffer.from(body).toString());

/** A provider with the least between a request and what the server does with it. */
const PLAIN: Provider = {
  // In the tests that use it there is no other one.
  name: 'mailgun',
  title: 'Plain Mail',
  routes: [
    {
      method: 'POST',
      url: '/send',
      async answer(call) {
        const { recipients, mailFrom = 'app@shop.example', sendAt, ...fields } = sentIn(call);
        const providerId = call.mailroom.uuid();
        const raw = await compose({ from: mailFrom, ...fields });
        await call.mailroom.send({ raw, mailFrom, recipients, providerId, sendAt, given: { tag: 'a' } });
        return json({ id: providerId }, 202);
      },
    },
    {
      method: 'PATCH',
      url: '/sent/:id',
      answer: async ({ mailroom, path: { id = '' }, query }) => {
        const time = query.get('at');
        return json({ found: await mailroom.reschedule(id, time === null ? null : Number(time)) });
      },
    },
    {
      method: 'PUT',
      url: '/kept/:kind/:name',
      async answer({ mailroom, path: { kind, name = '' }, query, body }) {
        const value = JSON.parse(Buffer.from(body).toString());
        const of = kind === 'idempotency' ? 'idempotency' : 'template';
        if (query.has('first')) return json({ before: await mailroom.keepFirst(of, name, value) });
        await mailroom.keep(of, name, value);
        return json({});
      },
    },
    {
      method: 'GET',
      url: '/kept/template/:name',
      answer: async ({ mailroom, path: { name = '' } }) =>
        json({ value: await mailroom.kept('template', name), all: await mailroom.keptOf('template') }),
    },
    { method: 'GET', url: '/defect', answer: () => Promise.reject(new TypeError('a defect')) },
    { method: 'POST', url: '/size', answer: async ({ body }) => json({ bytes: body.length }) },
    { method: 'GET', url: '/own', answer: () => Promise.reject(new Refused(418, 'Its own refusal')) },
  ],
  credentialOf: (headers) => headers['x-plain-key'],
  refusal: ({ status, message }, { url }) => json({ plain: { status, message, url } }, status),
  makeSecrets: async () => ({ secret: 'whsec' }),
  shown: ({ secret = '' }) => ({ secret }),
  event({ outcome, id, recipient, sending: { given, providerId: mail } }, { url }) {
    return outcome === 'unsubscribe' ? undefined : posting({ outcome, id, recipient, given, mail, url });
  },
  inbound({ from, to, subject, text, reply, rcptTo, attachments }) {
    const files = attachments.map(({ filename }) => filename);
    return posting({ from, to, subject, text, reply, rcptTo, files });
  },
};

/** The only provider of this process during the tests of a file. */
export function usePlainProvider(): void {
  const all = PROVIDERS as Provider[];
  let real: Provider[] = [];
  beforeAll(() => {
    real = all.splice(0, all.length, PLAIN);
  });
  afterAll(() => void all.splice(0, all.length, ...real));
}
