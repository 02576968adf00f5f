import { styleText } from 'node:util';
import type { api, Mayfly } from '@mayfly/client';
import type { Clock } from '../../clock.ts';

/** Interval of the query for refused mail, which the event stream does not contain. */
const REFUSALS_EVERY_MS = 2_000;
const MAX_SUBJECT = 80;
const MAX_ADDRESSES = 1_000;

export interface MailLinesDeps {
  mayfly: Mayfly;
  clock: Clock;
  signal: AbortSignal;
  print(line: string): void;
}

/** Replaces control and direction characters, because untrusted mail could control the terminal. */
const plain = (text: string) => text.replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]+/gu, ' ').trim();

const timeOf = (at: string) => styleText('dim', new Date(at).toTimeString().slice(0, 8));

function receivedLine(address: string, { receivedAt, rcptTo, subject, codes }: api.MessageSummary): string {
  const short = subject.length > MAX_SUBJECT ? `${subject.slice(0, MAX_SUBJECT)}…` : subject;
  const [code] = codes;
  const recipients = plain((rcptTo ?? [address]).join(', '));
  const shown = [timeOf(receivedAt), recipients, plain(short) || '(no subject)'];
  return [...shown, ...(code ? [styleText('green', plain(code.value))] : [])].join('  ');
}

const refusedLine = ({ at, address, reply, fault }: api.RefusedMail): string =>
  [
    timeOf(at),
    plain(address) || 'no recipient',
    styleText('red', `refused: ${plain(reply) || 'no reply'}${fault ? ' (by a fault rule)' : ''}`),
  ].join('  ');

async function printReceived({ mayfly, clock, signal, print }: MailLinesDeps): Promise<void> {
  const addresses = new Map<string, string>();
  for await (const { inboxId, message } of mayfly.stream({ since: new Date(clock.now()), signal })) {
    if (addresses.size >= MAX_ADDRESSES) addresses.clear();
    // For an inbox that was deleted meanwhile, print its id instead of the address.
    const address =
      addresses.get(inboxId) ??
      (await mayfly.getInbox(inboxId, { signal }).then(
        (inbox) => inbox.address,
        () => inboxId,
      ));
    addresses.set(inboxId, address);
    print(receivedLine(address, message));
  }
}

async function printRefused({ mayfly, clock, signal, print }: MailLinesDeps): Promise<void> {
  for (let since = new Date(clock.now()); !signal.aborted; ) {
    await clock.sleep(REFUSALS_EVERY_MS, signal);
    if (signal.aborted) return;
    const refused = (await mayfly.refusals({ since, signal })).toReversed();
    for (const one of refused) print(refusedLine(one));
    const last = refused.at(-1);
    if (last) since = new Date(last.at);
  }
}

export async function printMails(deps: MailLinesDeps): Promise<void> {
  try {
    await Promise.all([printReceived(deps), printRefused(deps)]);
  } catch (error) {
    if (!deps.signal.aborted) throw error;
  }
}
