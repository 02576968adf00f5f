import { AppError } from '../errors.ts';
import { hashCredential, newCredential, newId } from '../ids.ts';
import { newLocalPart } from '../mail/local-part.ts';
import type { Store } from '../store.ts';
import { PERMANENT_UNTIL } from './records.ts';

/** Identifies the sink among the inboxes of its account; no other inbox may have this label. */
const SINK_LABELS = { mayfly: 'sink' };

export const hasSinkLabel = (labels: Record<string, string>): boolean => labels.mayfly === SINK_LABELS.mayfly;

/** Labels for a recording, without that of the sink. */
export function withoutSinkLabel(labels: Record<string, string>): Record<string, string> {
  const { mayfly: _label, ...others } = labels;
  return hasSinkLabel(labels) ? others : labels;
}
const SINK_LOCAL_PART = 'sink';
/** Only the first local part is likely to be taken, by an older inbox. */
const ATTEMPTS = 5;

/**
 * Creates the sink in the first account unless it exists, also if several processes start at once.
 * @param domain of the sink's own address: `sink@DOMAIN`, or another local part if that is taken
 */
export async function ensureSink(
  store: Pick<Store, 'accounts' | 'inboxes'>,
  domain: string,
  now: number,
): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    const localPart = attempt === 1 ? SINK_LOCAL_PART : newLocalPart();
    const { sink } = await store.inboxes.findTakers(`${localPart}@${domain}`, now);
    if (sink) return;
    try {
      await createSink(store, { localPart, domain }, now);
      return;
    } catch (error) {
      const isTaken = error instanceof AppError && error.code === 'address_taken';
      if (!isTaken || attempt === ATTEMPTS) throw error;
    }
  }
}

async function createSink(
  store: Pick<Store, 'accounts' | 'inboxes'>,
  { localPart, domain }: { localPart: string; domain: string },
  now: number,
): Promise<void> {
  const account = await store.accounts.findFirst();
  if (!account) throw new Error('there is no account for the sink');
  const inbox = {
    id: newId('inb', now),
    kind: 'sink' as const,
    ...{ address: `${localPart}@${domain}`, localPart, domain },
    labels: SINK_LABELS,
    // The token is dropped: the sink is read with API keys of the account.
    tokenHash: hashCredential(newCredential('mft')),
    ttlMinutes: 0,
    ...{ createdAt: now, expiresAt: PERMANENT_UNTIL, maxExpiresAt: PERMANENT_UNTIL },
  };
  await store.inboxes.create(account.id, inbox, Number.POSITIVE_INFINITY, null);
}
