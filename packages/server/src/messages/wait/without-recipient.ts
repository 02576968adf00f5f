import type { InboxRecord, Refusal, Store } from '../../store/contract/index.ts';
import { NO_RECIPIENT } from '../../store/contract/refusals.ts';

/** The newest are looked through; the store keeps no more of them than a few dozen. */
const MAX_CANDIDATES = 100;
/** Handshakes that an explanation shows, the newest. */
const MAX_SHOWN = 20;

/** An SMTP reply begins with its code; the reason of a failed handshake does not. */
const HAS_CODE = /^\d{3} /;

/** A TLS handshake with the SMTP server that failed. */
export interface FailedHandshake {
  /** Epoch milliseconds. */
  at: number;
  remoteAddress: string;
  reason: string;
}

/** Who asks for an explanation. */
export interface ExplanationCaller {
  /** False for a read token, whose holder may know one inbox only, and nothing of its account. */
  ownsAccount: boolean;
  /** The address that the request came from; IPv4 as such. */
  remoteAddress: string;
}

/**
 * Refusals after a time that name no recipient, newest first: TLS handshakes that failed, and mail that was
 * refused at MAIL for its size. They cannot be assigned to an account: on a server with one account its API keys
 * see all of them; everyone else sees only those from their own address, which tells them nothing about other
 * accounts.
 * @param after epoch milliseconds, exclusive
 */
export async function withoutRecipient(
  store: Pick<Store, 'refusals' | 'accounts'>,
  inbox: InboxRecord,
  caller: ExplanationCaller,
  { after, now }: { after: number; now: number },
): Promise<{ refused: Refusal[]; failedHandshakes: FailedHandshake[] }> {
  const begin = Math.max(after, inbox.createdAt - 1);
  const all = await store.refusals.list(NO_RECIPIENT, MAX_CANDIDATES, now);
  const recent = all.filter(({ at }) => at > begin);
  if (recent.length === 0) return { refused: [], failedHandshakes: [] };
  const seesAll = caller.ownsAccount && (await isOnlyAccount(store));
  const visible = recent.filter(({ remoteAddress }) => seesAll || remoteAddress === caller.remoteAddress);
  return {
    refused: visible.filter(({ reply }) => HAS_CODE.test(reply)),
    failedHandshakes: visible
      .filter(({ reply }) => !HAS_CODE.test(reply))
      .slice(0, MAX_SHOWN)
      .map(({ at, remoteAddress, reply }) => ({ at, remoteAddress, reason: reply })),
  };
}

async function isOnlyAccount({ accounts }: Pick<Store, 'accounts'>): Promise<boolean> {
  const { accounts: found, hasMore } = await accounts.list({ limit: 1, after: null });
  return found.length === 1 && !hasMore;
}
