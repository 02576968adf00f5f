import { afterEach, expect, it } from 'vitest';
import type { ReceivedMail } from '../../src/inbound/delivery.ts';
import { type StartedSmtp, startSmtp, upToData } from '../smtp/start-smtp.ts';
import { smtpClient } from '../support/smtp-script.ts';

let smtp: StartedSmtp;
afterEach(() => smtp.stop());

/** A receiver that holds every message until its sender leaves. */
async function startHolding(): Promise<{ signals: AbortSignal[]; left: Promise<void> }> {
  smtp = await startSmtp();
  const signals: AbortSignal[] = [];
  const { promise: left, resolve } = Promise.withResolvers<void>();
  smtp.receiver.deliver = ({ signal }: ReceivedMail) => {
    if (!signal) throw new Error('no signal');
    signals.push(signal);
    return new Promise((_, reject) => {
      signal.addEventListener('abort', () => {
        resolve();
        reject(signal.reason);
      });
    });
  };
  return { signals, left };
}

it('a message whose sender has reset the connection is given up, and is no failure of the server', async () => {
  const { left } = await startHolding();
  const client = await smtpClient(smtp.port);
  await client.play([...upToData, { send: 'DATA', expect: 354 }, { send: 'x\r\n.' }]);
  client.socket.resetAndDestroy();
  await left;
  await expect.poll(() => smtp.metrics.mails.map(({ result }) => result)).toEqual(['failed']);
  expect(smtp.receiver.mails).toEqual([]);
});

it('a sender that has only closed its own side still gets its 250', async () => {
  smtp = await startSmtp();
  const storing = smtp.receiver.holdStoring();
  const client = await smtpClient(smtp.port);
  await client.play([...upToData, { send: 'DATA', expect: 354 }]);
  client.socket.end('x\r\n.\r\n');
  await storing.begun;
  storing.goOn();
  await client.play([{ expect: 250 }]);
  expect(smtp.receiver.mails).toHaveLength(1);
});
