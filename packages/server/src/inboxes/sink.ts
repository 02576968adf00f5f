import { hashCredential, newCredential, newId } from '../ids.ts';
import { newLocalPart } from '../mail/local-part.ts';
import type { Store } from '../store.ts';
import { type AddressParts, onFreeAddress, partsOf } from './address-parameters.ts';
import { PERMANENT_UNTIL } from './records.ts';

/** Identifies the sink among the inboxes of its account; no other inbox may have this label. */
const SINK_LABELS = { mayfly: 'sink' };

export const hasSinkLabel = (labels: Record<string, string>): boolean => labels.mayfly === SINK_LABELS.mayfly;

/** Labels for a recording, without that of the sink. */
export function withoutSinkLabel(labels: Record<string, string>): Record<string, string> {
  const { mayfly: _label, ...others } = labels;
  return hasSinkLabel(labels) ? others : labels;
}

/**
 * Creates the sink in the first account unless it exists, also if several processes start at once.
 * @param domain of the sink's own address: `sink@DOMAIN`, or another local part if an older inbox has that
 */
export async function ensureSink(
  store: Pick<Store, 'accounts' | 'inboxes'>,
  domain: string,
  now: number,
): Promise<void> {
  const localParts = ['sink'];
  const parts = () => partsOf(localParts.pop() ?? newLocalPart(), domain);
  await onFreeAddress({ parts, isRandom: true }, async (free) => {
    const { sink } = await store.inboxes.findTakers(free.address, now);
    if (!sink) await createSink(store, free, now);
  });
}

async function createSink(
  store: Pick<Store, 'accounts' | 'inboxes'>,
  parts: AddressParts,
  now: number,
): Promise<void> {
  const account = await store.accounts.findFirst();
  if (!account) throw new Error('there is no account for the sink');
  const inbox = {
    id: newId('inb', now),
    kind: 'sink' as const,
    ...parts,
    labels: SINK_LABELS,
    // The token is dropped: the sink is read with API keys of the account.
    tokenHash: hashCredential(newCredential('mft')),
    ttlMinutes: 0,
    ...{ createdAt: now, expiresAt: PERMANENT_UNTIL, maxExpiresAt: PERMANENT_UNTIL },
  };
  await store.inboxes.create(account.id, inbox, Number.POSITIVE_INFINITY, null);
}
