import { Mayfly } from '@mayfly/client';

// MAYFLY_URL and MAYFLY_API_KEY; without them the server that `mayfly dev` runs on this machine.
export const connect = () => new Mayfly();

/** @param signUp what the application under test does: it sends a code and a link to the address */
export async function firstTest(mayfly: Mayfly, signUp: (address: string) => Promise<unknown>) {
  const inbox = await mayfly.createInbox({ ttlMinutes: 15, labels: { run: 'first' } });
  await signUp(inbox.address);

  const mail = await inbox.waitForMessage({ subject: 'confirm', timeout: 10_000 });
  const found = { code: mail.code(), link: mail.link({ kind: 'verify' }) };

  await inbox.expectSilence({ subject: 'invoice', within: 200 });
  await inbox.delete();
  return found;
}
