import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Store } from '../../src/store.ts';
import { mailTo, onlyPlaced } from '../store/builders.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { rcpt, sendMail } from '../support/mail/smtp-mail.ts';
import { useApp } from '../support/start-app.ts';

const NO_SUCH = '550 5.1.1 No such inbox here';
const OK = '250 2.1.5 Recipient OK';

const clock = new FakeClock();
const MAX = 3;
const app = useApp({ MAYFLY_PLANS: JSON.stringify({ unlimited: { maxMessagesPerInbox: MAX } }) }, { clock });
/** Beside the running server, as the operator's command line works. */
let beside: Store;
let accountId: string;
beforeAll(async () => {
  beside = await app.openStore();
  accountId = (await beside.accounts.findFirst())?.id ?? '';
});
afterAll(() => beside.close());
const ask = (address: string) => rcpt(app.smtp.port, address);

it('an inbox to which mail has just come refuses the next as soon as it is deleted by its labels', async () => {
  const { address } = await app.createInbox({ labels: { run: '7' } });
  expect([await ask(address), await ask(address)]).toEqual([OK, OK]);
  await app.api('DELETE', '/v1/inboxes?label.run=7');
  expect(await ask(address)).toBe(NO_SUCH);
});

it('an inbox to which mail has just come refuses the next the moment it expires', async () => {
  const { address } = await app.createInbox({ ttlMinutes: 1 });
  await clock.advance(59_999);
  expect(await ask(address)).toBe(OK);
  await clock.advance(1);
  expect(await ask(address)).toBe(NO_SUCH);
});

it('an inbox to which mail has just come refuses the next at RCPT once it is full, and takes one again when a message was deleted', async () => {
  const { address, id } = await app.createInbox();
  for (let n = 0; n < MAX; n++) expect((await sendMail(app.smtp.port, [address])).replies).toEqual([OK]);
  expect(await ask(address)).toBe('452 4.2.2 Inbox is full');
  const { body } = await app.api('GET', `/v1/inboxes/${id}/messages`);
  await app.api('DELETE', `/v1/inboxes/${id}/messages/${body.messages[0].id}`);
  expect(await ask(address)).toBe(OK);
});

it('an inbox to which mail has just come is what the operator made of it half a second later', async () => {
  const { address, id } = await app.createInbox();
  expect(await ask(address)).toBe(OK);
  await beside.inboxes.delete(accountId, id, clock.now());
  await clock.advance(500);
  expect(await ask(address)).toBe(NO_SUCH);
});

it('an inbox that the guard has cached hides no message from a page below a page of a reader that saw it later', async () => {
  const inbox = await app.createInbox();
  const list = `/v1/inboxes/${inbox.id}/messages?limit=2`;
  // The key's view of the inbox is cached now, and another process's writes do not change that.
  await app.api('GET', list);
  const ids: string[] = [];
  for (let n = 0; n < 5; n++)
    ids.unshift((await onlyPlaced(beside, mailTo([{ ...inbox, accountId }]), clock.now())).messageId);
  const read = async (query: string, as?: string) => {
    const { body } = await app.api('GET', `${list}${query}`, as ? { as } : {});
    return { ids: body.messages.map(({ id }: { id: string }) => id), cursor: body.cursor };
  };
  expect((await read('', inbox.token)).ids).toEqual(ids.slice(0, 2));
  const second = await read(`&before=${ids[1]}`);
  expect(second.ids).toEqual(ids.slice(2, 4));
  expect((await read(`&before=${ids[3]}`)).ids).toEqual(ids.slice(4));
  expect((await read(`&since=${second.cursor}`, inbox.token)).ids).toEqual(ids.slice(0, 2));
});
