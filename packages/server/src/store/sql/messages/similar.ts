import { setImmediate } from 'node:timers/promises';
import { inboxAddress, parseAddress } from '../../../mail/address.ts';
import { isNearMiss, type WantedAddress } from '../../../mail/matching/similar-addresses.ts';
import type { MessageStore, SimilarRecipient } from '../../contract/index.ts';
import type { Engine } from '../engine.ts';
import { parseTexts } from '../stored-json.ts';
import { prepareSelectAccount } from './account-pages.ts';

/** Messages whose recipients are compared between two turns of the event loop: about five milliseconds. */
const ROWS_PER_STEP = 1_000;
/** Messages that one call looks at, the newest: two minutes at 400 messages a second. */
const MAX_ROWS = 50_000;

interface Row {
  inboxId: string;
  receivedAt: number;
  rcptTo: string;
}

/** Finding mail that was sent to similar addresses. */
export function createSimilar({ db }: Engine): Pick<MessageStore, 'listSimilar'> {
  const selectAccount = prepareSelectAccount(db);

  const messages = (now: number) =>
    db
      .selectFrom('messages as m')
      .innerJoin('inboxes as i', 'i.seq', 'm.inbox_seq')
      .select(['i.id as inboxId', 'm.received_at as receivedAt', 'm.rcpt_to as rcptTo'])
      .where('i.expires_at', '>', now)
      .whereRef('m.received_at', '>', 'i.emptied_up_to')
      .limit(ROWS_PER_STEP);

  /** Pages of an account's messages, newest first. */
  async function* ofAccount(accountId: string, after: number, now: number): AsyncGenerator<Row[]> {
    const [account] = await selectAccount(db, { accountId });
    if (!account) return;
    for (let before = Number.MAX_SAFE_INTEGER; ; ) {
      const rows = await messages(now)
        .select('m.account_order as place')
        .where('m.account_seq', '=', account.seq)
        .where('m.account_order', '>', after)
        .where('m.account_order', '<', before)
        .orderBy('m.account_order', 'desc')
        .execute();
      yield rows;
      const last = rows.at(-1);
      if (!last || rows.length < ROWS_PER_STEP) return;
      before = last.place;
    }
  }

  /** Pages of an inbox's messages, newest first. */
  async function* ofInbox(inboxId: string, after: number, now: number): AsyncGenerator<Row[]> {
    for (let before = Number.MAX_SAFE_INTEGER; ; ) {
      const rows: Row[] = await messages(now)
        .where('i.id', '=', inboxId)
        .where('m.received_at', '>', after)
        .where('m.received_at', '<', before)
        .orderBy('m.received_at', 'desc')
        .execute();
      yield rows;
      const last = rows.at(-1);
      if (!last || rows.length < ROWS_PER_STEP) return;
      before = last.receivedAt;
    }
  }

  return {
    async listSimilar(scope, wanted, after, now) {
      const found = new Map<string, SimilarRecipient>();
      const pages =
        'accountId' in scope ? ofAccount(scope.accountId, after, now) : ofInbox(scope.inboxId, after, now);
      let left = MAX_ROWS;
      for await (const rows of pages) {
        for (const row of rows) countNearMisses(found, wanted, row);
        left -= rows.length;
        if (left <= 0) break;
        await setImmediate();
      }
      return [...found.values()];
    },
  };
}

/** Adds those recipients of a message that are near misses; one message may have several. */
function countNearMisses(
  found: Map<string, SimilarRecipient>,
  wanted: WantedAddress,
  { inboxId, receivedAt, rcptTo }: Row,
): void {
  const addresses = parseTexts(rcptTo).map((recipient) => parseAddress(recipient, { smtputf8: true }));
  for (const address of new Set(addresses.map((parsed) => (parsed ? inboxAddress(parsed) : '')))) {
    if (!isNearMiss(address, wanted)) continue;
    const key = `${inboxId} ${address}`;
    const known = found.get(key) ?? { address, inboxId, at: receivedAt, times: 0 };
    found.set(key, { ...known, at: Math.max(known.at, receivedAt), times: known.times + 1 });
  }
}
