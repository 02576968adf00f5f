import { afterEach, describe, expect, it } from 'vitest';
import { mailTo, onlyPlaced } from '../store/builders.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { smtpClient } from '../support/smtp-script.ts';
import { startApp, type TestApp } from '../support/start-app.ts';

const closings: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closings.splice(0).reverse()) await close();
});

async function start(env: Record<string, string> = {}): Promise<{ app: TestApp; clock: FakeClock }> {
  const clock = new FakeClock();
  const app = await startApp(env, { clock });
  closings.push(app.stop);
  return { app, clock };
}

/** A session whose MAIL was heard; it asks for recipients one after the other. */
async function asking(app: TestApp): Promise<(address: string) => Promise<string>> {
  const client = await smtpClient(app.smtp.port);
  await client.reply();
  await client.say('EHLO app.example.org');
  await client.say('MAIL FROM:<app@example.org>');
  closings.push(async () => client.close());
  return (address) => client.say(`RCPT TO:<${address}>`);
}

const _mail = (to: string) => ({ from: 'app@example.org', to, text: 'x' });
const NO_SUCH = '550 5.1.1 No such inbox here';
const OK = '250 2.1.5 Recipient OK';
const _FULL = '452 4.2.2 Inbox is full';

describe('an inbox to which mail has just come', () => {
  it('refuses the next as soon as it is deleted, by itself or by its labels', async () => {
    const { app } = await start();
    const rcpt = await asking(app);
    const one = await app.createInbox();
    const labelled = await app.createInbox({ labels: { run: '7' } });
    for (const { address } of [one, labelled])
      expect([await rcpt(address), await rcpt(address)]).toEqual([OK, OK]);
    await app.api('DELETE', `/v1/inboxes/${one.id}`);
    expect([await rcpt(one.address), await rcpt(labelled.address)]).toEqual([NO_SUCH, OK]);
    await app.api('DELETE', '/v1/inboxes?label.run=7');
    expect(await rcpt(labelled.address)).toBe(NO_SUCH);
  });

  it('is what the operator made of it beside the server, half a second later', async () => {
    const { app, clock } = await start();
    const rcpt = await asking(app);
    const { address, id } = await app.createInbox();
    expect(await rcpt(address)).toBe(OK);
    const beside = await app.openStore();
    closings.push(() => beside.close());
    const account = await beside.accounts.findFirst();
    await beside.inboxes.delete(account?.id ?? '', id, clock.now());
    await clock.advance(500);
    expect(await rcpt(address)).toBe(NO_SUCH);
  });
});

describe('an inbox that the guard has cached', () => {
  it('hides no message from a page below a page of a reader that saw it later', async () => {
    const { app, clock } = await start();
    const inbox = await app.createInbox();
    const list = `/v1/inboxes/${inbox.id}/messages?limit=2`;
    // The key's view of the inbox is cached now, and another process's writes do not change that.
    await app.api('GET', list);
    const other = await app.openStore();
    closings.push(() => other.close());
    const accountId = (await other.accounts.findFirst())?.id ?? '';
    const ids: string[] = [];
    for (let n = 0; n < 5; n++) {
      const { messageId } = await onlyPlaced(other, mailTo([{ ...inbox, accountId }]), clock.now());
      ids.unshift(messageId);
    }
    const idsOf = (messages: { id: string }[]) => messages.map(({ id }) => id);
    const first = await app.api('GET', list, { as: inbox.token });
    expect(idsOf(first.body.messages)).toEqual(ids.slice(0, 2));
    const second = await app.api('GET', `${list}&before=${ids[1]}`);
    expect(idsOf(second.body.messages)).toEqual(ids.slice(2, 4));
    const third = await app.api('GET', `${list}&before=${ids[3]}`);
    expect(idsOf(third.body.messages)).toEqual(ids.slice(4));
    const after = await app.api('GET', `${list}&since=${second.body.cursor}`, { as: inbox.token });
    expect(idsOf(after.body.messages)).toEqual(ids.slice(0, 2));
  });
});
