import { parentPort, workerData } from 'node:worker_threads';
import type { MailAuthentication } from '../../mail/mail.ts';
import { freeIfLarge } from '../../memory.ts';
import { askForOneMail, createDns } from './dns-cache.ts';
import { authenticateMail, type CheckedMail } from './verify.ts';

export interface CheckerData {
  /** Name servers as `address` or `address:port`; null for the machine's own. */
  servers: readonly string[] | null;
}

/** A mail to check, or the id of a check that must return what is known so far. */
export type ToChecker = (CheckedMail & { id: number }) | { hurry: number };

/** `ready` when the thread listens; then one result for each mail. */
export type FromChecker = 'ready' | { id: number; found: MailAuthentication };

/** The entry of the thread that checks senders; see authenticator.ts. */
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
