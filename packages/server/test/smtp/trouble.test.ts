import { once } from 'node:events';
import { connect } from 'node:net';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { AppError } from '../../src/errors.ts';
import { playSmtp, type SmtpClient, smtpClient } from '../support/smtp-script.ts';
import { inData, mailTo, useSmtp, withSender } from './start-smtp.ts';

let client: SmtpClient;
const smtp = useSmtp();
beforeEach(async () => {
  client = await smtpClient(smtp.port);
});
afterEach(async () => {
  client.close();
  // The server lives; a promise that was left to itself fails the run.
  await playSmtp(smtp.port, ['→ 220', 'NOOP → 250']);
  await expect.poll(() => smtp.metrics.open).toBe(0);
});

const results = () => smtp.metrics.mails.map(({ result }) => result);

describe('storing fails', () => {
  test.each<[string, unknown, string]>([
    ['the storage is down', new AppError('unavailable', 'disk at path /secret'), '451 4.3.0'],
    ['the storage failed meanwhile', new AppError('outcome_unknown', 'disk at path /secret'), '451 4.3.0'],
    ['a defect', new Error('secret words'), '451 4.3.0'],
    ['a mail too large for the inbox', new AppError('message_too_large', 'too large'), '552 5.3.4'],
    ['an inbox that filled up meanwhile', new AppError('inbox_full', 'full'), '452 4.2.2'],
    ['an inbox that ended meanwhile', new AppError('unknown_recipient', 'gone'), '550 5.1.1'],
    ['a failure that is not about mail', new AppError('quota_exceeded', 'quota'), '451 4.3.0'],
  ])('%s: the sender hears it and may go on', async (_name, error, reply) => {
    smtp.receiver.beforeTake = () => Promise.reject(error);
    await client.play([...inData, `x\r\n. → ${reply}`]);
    smtp.receiver.beforeTake = async () => undefined;
    await client.play(mailTo('a@mayfly.test'));
    expect(smtp.receiver.mails).toHaveLength(1);
    const refusal = smtp.receiver.refusals.at(-1);
    expect(refusal?.reply).toMatch(new RegExp(`^${reply}`));
    expect(refusal?.reply).not.toContain('secret');
  });
});

describe('a sender that disconnects', () => {
  const WAYS = ['destroy', 'end', 'resetAndDestroy'] as const;
  test.each(WAYS)('by %s in the data leaves nothing', async (how) => {
    await client.play([...inData, { send: 'half a mail\r\nQUIT' }]);
    client.socket[how]();
    await expect.poll(results).toEqual(['failed']);
    expect(smtp.receiver.mails).toEqual([]);
  });

  test('by a reset after the dot, while the mail is stored: it is stored', async () => {
    const storing = smtp.receiver.holdStoring();
    await client.play([...inData, { send: 'x\r\n.' }]);
    await storing.begun;
    client.socket.resetAndDestroy();
    await expect.poll(() => smtp.metrics.open).toBe(0);
    storing.goOn();
    await expect.poll(results).toEqual(['accepted']);
    expect(smtp.receiver.mails).toHaveLength(1);
  });

  test('while its recipient is looked up', async () => {
    await client.play(withSender);
    await client.send('RCPT TO:<a@mayfly.test>\r\n');
    client.socket.resetAndDestroy();
  });
});

test('a QUIT inside the data is a line of the mail', async () => {
  await client.play([...inData, 'QUIT\r\n. → 250', 'QUIT → 221']);
  expect(smtp.receiver.mails[0]?.bytes.toString()).toBe('QUIT\r\n');
});

describe('after QUIT', () => {
  test('the server keeps no connection of a client that leaves its side open', async () => {
    const socket = connect({ port: smtp.port, host: '127.0.0.1', allowHalfOpen: true });
    let text = '';
    socket.setEncoding('latin1').on('data', (more: string) => {
      text += more;
    });
    socket.write('QUIT\r\n');
    await once(socket, 'end');
    expect(text).toContain('\r\n221 2.0.0 ');
    const written = () => new Promise((resolve) => socket.write('NOOP\r\n', resolve));
    const failed = once(socket, 'error');
    // The first is answered with a reset, which the second meets.
    await written();
    expect(await written()).toMatchObject({ code: 'EPIPE' });
    await failed;
  });

  test('its reply arrives, whatever else was sent with it', async () => {
    await client.send(`QUIT\r\n${'x'.repeat(200_000)}`);
    await client.play(['→ 220', '→ 221']);
  });
});
