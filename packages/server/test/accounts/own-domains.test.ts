import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createPlans } from '../../src/accounts/plans.ts';
import { createEventBus } from '../../src/events.ts';
import { Receiver } from '../../src/inbound/receiver.ts';
import type { Store } from '../../src/store.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { sendMail } from '../support/mail/smtp-mail.ts';
import { TEST_KEY, useApp } from '../support/start-app.ts';

const UNKNOWN = '550 5.1.1 No such inbox here';

describe('mail to the domain of one account', () => {
  const app = useApp({ MAYFLY_SIGNUP_PLAN: 'unlimited' });
  /** Beside the running server, as the operator's command line works. */
  let store: Store;
  let stranger: { account: { id: string }; key: string };
  let ownId: string;
  beforeAll(async () => {
    store = await app.openStore();
    stranger = (await app.api('POST', '/v1/accounts', { as: null, body: { name: 'stranger' } })).body;
    ownId = (await store.accounts.findFirst())?.id ?? '';
    await give('ours.test', ownId);
  });
  afterAll(() => store.close());

  /** The replies to these recipients of one mail. */
  const sendTo = async (addresses: string[], subject = 'x'): Promise<string[]> =>
    (await sendMail(app.smtp.port, addresses, `Subject: ${subject}\n\nx`)).replies;
  const give = async (domain: string, accountId: string, createdAt = Date.parse('2026-01-01')) => {
    await store.domains.remove(domain);
    expect(await store.domains.add({ domain, accountId, createdAt })).toBe(true);
  };
  const subjects = async (inbox: { id: string; token: string }): Promise<string[]> =>
    (await app.messages(inbox, '', inbox.token)).map(({ subject }) => subject);
  const explained = async (inbox: { id: string }, as: string) => {
    const body = { match: { subject: 'never sent' }, timeoutSeconds: 0 };
    return (await app.api('POST', `/v1/inboxes/${inbox.id}/wait`, { as, body })).body.explanation;
  };

  it("reaches its owner's inbox, in any case, with any tag, and together with shared domains", async () => {
    const inbox = await app.createInbox({ localPart: 'checkout', domain: 'ours.test' });
    const shared = await app.createInbox();
    const replies = await sendTo(['Checkout+tag@OURS.test', shared.address], 'both');
    expect(replies).toEqual(['250 2.1.5 Recipient OK', '250 2.1.5 Recipient OK']);
    expect([await subjects(inbox), await subjects(shared)]).toEqual([['both'], ['both']]);
  });

  it('reaches no inbox of another account, not even one created while that account had the domain', async () => {
    await give('moved.test', stranger.account.id);
    const body = { localPart: 'old', domain: 'moved.test' };
    const old = (await app.api('POST', '/v1/inboxes', { as: stranger.key, body })).body;
    const catchAll = { catchAll: true, domain: 'moved.test' };
    expect((await app.api('POST', '/v1/inboxes', { as: stranger.key, body: catchAll })).status).toBe(201);
    const both = [old.address, 'any@moved.test'];
    expect(await sendTo(both, 'before')).toEqual(Array(2).fill('250 2.1.5 Recipient OK'));
    await give('moved.test', ownId);
    expect(await sendTo(both)).toEqual([UNKNOWN, UNKNOWN]);
    await store.domains.remove('moved.test');
    expect(await sendTo(both)).toEqual([UNKNOWN, UNKNOWN]);
    expect(await subjects(old)).toEqual(['before']);
    expect((await explained(old, stranger.key)).refused).toEqual([]);
  });

  it('is accepted as soon as the operator assigns the domain, while the server runs', async () => {
    expect((await app.api('POST', '/v1/inboxes', { body: { domain: 'new.test' } })).status).toBe(400);
    expect(await sendTo(['first@new.test'])).toEqual([UNKNOWN]);
    // Not in the millisecond of the refusal.
    await give('new.test', ownId, Date.now() + 1);
    const inbox = await app.createInbox({ localPart: 'first', domain: 'new.test' });
    await sendTo([inbox.address], 'there');
    expect(await subjects(inbox)).toEqual(['there']);
    // Mail that was rejected while no account had the domain belongs to no account.
    expect((await explained(inbox, TEST_KEY)).refused).toEqual([]);
  });

  it('does not slow down mail to shared domains, and refusals are kept for shared and owned domains only', async () => {
    const lost: unknown[] = [];
    const clock = new FakeClock();
    const down = new Error('the storage is down');
    const NEVER = () => expect.fail('nothing is sent here');
    const receiver = new Receiver({
      store: { ...store, domains: { ...store.domains, find: () => Promise.reject(down) } },
      readings: { begin: NEVER, ensure: NEVER },
      ...{ clock, events: createEventBus(), plans: createPlans() },
      ...{ hostname: 'mayfly.test', domains: ['mayfly.test'], sink: false },
      onRefusalsLost: (error) => lost.push(error),
    });
    const unknown = { code: 'unknown_recipient' };
    await expect(receiver.accept('someone@mayfly.test', 0)).rejects.toMatchObject(unknown);
    await expect(receiver.accept('someone@ours.test', 0)).rejects.toBe(down);
    const addresses = ['kept@mayfly.test', 'kept@ours.test', 'lost@unknown.example'];
    for (const address of addresses) {
      const sender = { mailFrom: '', helo: 'app.example.org', remoteAddress: '192.0.2.7' };
      receiver.refused({ ...sender, at: clock.now(), address, reply: UNKNOWN });
    }
    await receiver.settled();
    expect(lost).toEqual([]);
    const kept = (address: string) => store.refusals.listConcerning(address, 0, clock.now());
    expect((await Promise.all(addresses.map(kept))).map(({ length }) => length)).toEqual([1, 1, 0]);
  });
});
