import { parentPort, workerData } from 'node:worker_threads';
import { freeIfLarge } from '../../memory.ts';
import { askForOneMail, createDns } from './dns-cache.ts';
import type { CheckerData, FromChecker, ToChecker } from './protocol.ts';
import { authenticateMail } from './verify.ts';

/** The entry of the thread that checks senders; see check-thread.ts. */
if (parentPort !== null) {
  const port = parentPort;
  const { servers }: CheckerData = workerData;
  const ask = createDns({ servers });
  const running = new Map<number, AbortController>();
  const say = (message: FromChecker): void => port.postMessage(message);

  port.on('message', (message: ToChecker) => {
    if ('hurry' in message) {
      running.get(message.hurry)?.abort();
      return;
    }
    const { id, ...mail } = message;
    const over = new AbortController();
    running.set(id, over);
    void authenticateMail(mail, askForOneMail(ask, over.signal), over.signal).then((found) => {
      running.delete(id);
      freeIfLarge(mail.raw);
      say({ id, found });
    });
  });
  say('ready');
}
