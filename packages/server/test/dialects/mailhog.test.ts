import mailhog from 'mailhog';
import { afterAll, expect, it } from 'vitest';
import { startApp, TEST_KEY } from '../support/start-app.ts';

const as = (password: string) => {
  const { hostname, port } = new URL(app.url);
  return mailhog({ host: hostname, port: Number(port), auth: `any:${password}` });
};
async function messagesOf(client: typeof hog, start?: number, limit?: number) {
  const found = await client.messages(start, limit);
  if (!found) throw new Error('no answer');
  return found;
}
const app = await startApp({ MAYFLY_DIALECT: 'mailhog', MAYFLY_SINK: 'on' });
const hog = as(TEST_KEY);
await app.send({
  from: 'Shöp <shop@example.com>',
  to: 'Ada <ada@example.org>',
  subject: 'Willkommen',
  text: 'Dein Code für heute: 482913',
  html: '<p>Dein Code</p>',
});
await app.send({
  from: 'bills@example.com',
  to: 'eve@example.org',
  subject: 'The bill',
  text: 'See below',
  attachments: [{ filename: 'bill.txt', content: 'Ten euros' }],
});
afterAll(() => app.stop());

it('mailhog, unchanged, lists whole messages, newest first, and finds them', async () => {
  const { total, count, start, items } = await messagesOf(hog, 0, 10);
  expect({ total, count, start }).toEqual({ total: 2, count: 2, start: 0 });
  expect(items.map(({ subject, from, to }) => [subject, from, to])).toEqual([
    ['The bill', 'bills@example.com', 'eve@example.org'],
    ['Willkommen', 'Shöp <shop@example.com>', 'Ada <ada@example.org>'],
  ]);
  expect(items[1]).toMatchObject({ text: 'Dein Code für heute: 482913', html: '<p>Dein Code</p>' });
  expect((await hog.latestTo('ada@example.org'))?.subject).toBe('Willkommen');
  expect((await hog.latestContaining('482913'))?.subject).toBe('Willkommen');
  expect(await hog.search('nobody@example.org', 'to')).toMatchObject({ total: 0, items: [] });
});

it('deletes one message or all, of the inbox alone whose read token is the password', async () => {
  const inbox = await app.createInbox();
  await app.send({ from: 'a@example.com', to: inbox.address, subject: 'own', text: 'x' });
  const own = as(inbox.token);
  const [mine] = (await messagesOf(own)).items;
  expect(mine?.subject).toBe('own');
  const others = await messagesOf(hog);
  expect(others.total).toBe(3);
  await own.deleteMessage(others.items[1]?.ID ?? '');
  await own.deleteAll();
  expect((await messagesOf(hog)).total).toBe(2);
  await hog.deleteMessage(others.items[1]?.ID ?? '');
  expect((await messagesOf(hog)).items.map(({ subject }) => subject)).toEqual(['Willkommen']);
  await hog.deleteAll();
  expect((await messagesOf(hog)).total).toBe(0);
});
