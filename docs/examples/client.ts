import { Mayfly } from '@mayfly/client';

/** @param send what the application under test does: it sends a code to the address */
export async function firstTest(
  mayfly: Mayfly,
  send: (address: string) => Promise<unknown>,
): Promise<string> {
  const inbox = await mayfly.inboxes.create({ ttlMinutes: 15, labels: { run: 'first' } });
  await send(inbox.address);
  const code = await inbox.waitForCode({ subject: 'confirm' });
  await inbox.expectSilence({ subject: 'invoice' }, { forMs: 200 });
  await inbox.delete();
  return code;
}

/** Without arguments: MAYFLY_URL and MAYFLY_API_KEY. */
export const connect = () => new Mayfly();
