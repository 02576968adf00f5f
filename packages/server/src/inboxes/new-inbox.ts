import { hash, randomBytes } from 'node:crypto';
import type { CreatedInbox, CreateInbox, Inbox } from '@mayfly/client/contract';
import type { Plan } from '../accounts/plans.ts';
import { MINUTE_MS } from '../clock.ts';
import type { KeyCaller } from '../http/access/credential.ts';
import type { RouteContext } from '../http/context.ts';
import { invalidField } from '../http/request/invalid-fields.ts';
import { toTime } from '../http/response/time.ts';
import { deriveReadToken, hashCredential, newCredential, newId } from '../ids.ts';
import { newLocalPart, phoneNumberOf } from '../mail/local-part.ts';
import { cursorAt } from '../messages/cursor.ts';
import type { Store } from '../store.ts';
import { quoted } from '../text/nearest.ts';
import { onFreeAddress, partsOf, wantedAddress } from './address-parameters.ts';
import { type IdempotentRequest, type InboxRecord, PERMANENT_UNTIL, type StagedMails } from './records.ts';

/** Read tokens are derived from the nonce and the Idempotency-Key, so the nonce must be too long to guess. */
const NONCE_BYTES = 16;
const IDEMPOTENCY_KEY = /^[\x21-\x7e]{1,255}$/;

const canonical = (value: unknown): string =>
  JSON.stringify(value, (_name, field) =>
    typeof field === 'object' && field !== null
      ? Object.fromEntries(Object.entries(field).sort(([a], [b]) => (a < b ? -1 : 1)))
      : field,
  );

const sha256 = (text: string): string => hash('sha256', text, 'hex');

export function repeatableRequest(header: string | undefined, body: unknown) {
  if (header === undefined) return null;
  if (!IDEMPOTENCY_KEY.test(header)) {
    throw invalidField(
      'Idempotency-Key',
      `The header "Idempotency-Key" must have 1 to 255 visible ASCII characters without spaces, not ${quoted(header)}.`,
    );
  }
  return {
    stored: {
      keyHash: sha256(header),
      bodyHash: sha256(canonical(body)),
      nonce: randomBytes(NONCE_BYTES).toString('base64url'),
    } satisfies IdempotentRequest,
    readToken: (nonce: string) => deriveReadToken(header, nonce),
  };
}

const DEFAULT_TTL_MINUTES = 60;

export interface Extras {
  repeat?: ReturnType<typeof repeatableRequest>;
  /** The mails of an import become the first messages of the inbox. `begunAt` is when the import began. */
  staged?: Omit<StagedMails, 'now'> & { begunAt: number };
  replayMs?: number;
}

/** @throws AppError `invalid_request`, `address_taken`, `limit_reached`, `idempotency_…`, `webhook_url_refused` */
export async function createInbox(
  { options, deps }: RouteContext,
  { account }: KeyCaller,
  body: CreateInbox,
  { repeat = null, staged, replayMs }: Extras = {},
): Promise<CreatedInbox> {
  const { store, clock, plans, newWebhooks } = deps;
  const plan = plans.named(account.plan);
  if (hasSinkLabel(body.labels ?? {})) {
    const message = 'The label "mayfly" with the value "sink" marks the sink. Use another name or value.';
    throw invalidField('/labels/mayfly', message);
  }
  const ttlMinutes = lifetimeOfNew(body, plan, account.plan);
  const domains = { accountId: account.id, configured: options.domains, owned: store.domains };
  const wanted = await wantedAddress(body, domains);
  const token = repeat ? repeat.readToken(repeat.stored.nonce) : newCredential('mft');
  const webhook = body.webhookUrl === undefined ? null : await newWebhooks.make(account, body.webhookUrl);
  const now = clock.now();
  const createdAt = Math.min(staged?.begunAt ?? now, now);
  const created = await onFreeAddress(wanted, (parts) =>
    store.inboxes.create(
      account.id,
      {
        id: newId('inb', createdAt),
        kind: wanted.kind,
        ...parts,
        labels: body.labels ?? {},
        tokenHash: hashCredential(token),
        ttlMinutes,
        createdAt,
        expiresAt: now + ttlMinutes * MINUTE_MS,
        maxExpiresAt: now + plan.maxTtlMinutes * MINUTE_MS,
        ...(replayMs !== undefined && { replayUntil: now + replayMs }),
      },
      plan.maxLiveInboxes,
      repeat?.stored ?? null,
      webhook,
      staged ? { ...staged, now } : null,
    ),
  );
  const { inbox, nonce, webhook: registered } = created;
  return {
    ...toInbox(inbox, plan, options.domains),
    token: repeat && nonce ? repeat.readToken(nonce) : token,
    ...(registered && { webhook: registered }),
  };
}

export function lifetimeOfNew({ ttlMinutes }: CreateInbox, { maxTtlMinutes }: Plan, planName: string) {
  return lifetime(ttlMinutes ?? Math.min(DEFAULT_TTL_MINUTES, maxTtlMinutes), maxTtlMinutes, planName);
}

/** Rejects a lifetime beyond the plan. If it were shortened, the inbox would end before a test expects it. */
export function lifetime(ttlMinutes: number, maximum: number, planName: string): number {
  if (ttlMinutes >= 1 && ttlMinutes <= maximum) return ttlMinutes;
  throw invalidField(
    '/ttlMinutes',
    `"ttlMinutes" must be from 1 to ${maximum} minutes, the maximum of the plan ${quoted(planName)}, not ${ttlMinutes}.`,
  );
}

export function toInbox(inbox: InboxRecord, plan: Plan, domains: readonly string[]): Inbox {
  const { id, address, kind, domain, labels, ttlMinutes, messageCount, lastReceivedAt, replay } = inbox;
  const isNumber = kind === 'address' && domain === domains[0];
  return {
    ...{ id, address, domain, labels, ttlMinutes, messageCount, replay },
    phoneNumber: isNumber ? phoneNumberOf(inbox.localPart) : null,
    catchAll: kind !== 'address',
    createdAt: toTime(inbox.createdAt),
    expiresAt: toTime(inbox.expiresAt),
    maxExpiresAt: toTime(inbox.maxExpiresAt),
    full: kind !== 'sink' && messageCount >= plan.maxMessagesPerInbox,
    eviction: kind === 'sink' ? 'oldest' : 'none',
    lastMessageAt: lastReceivedAt === 0 ? null : toTime(lastReceivedAt),
    cursor: cursorAt(id, lastReceivedAt),
  };
}

/** Labels of the sink, the inbox for mail that no other inbox takes. No other inbox may have them. */
const SINK_LABELS = { mayfly: 'sink' };

const hasSinkLabel = (labels: Record<string, string>): boolean => labels.mayfly === SINK_LABELS.mayfly;

export function withoutSinkLabel(labels: Record<string, string>): Record<string, string> {
  const { mayfly: _label, ...others } = labels;
  return hasSinkLabel(labels) ? others : labels;
}

/** Creates the sink in the first account, as `sink@DOMAIN` if free. Several processes may do so at once. */
export async function ensureSink(store: Pick<Store, 'accounts' | 'inboxes'>, domain: string, now: number) {
  const localParts = ['sink'];
  const parts = () => partsOf(localParts.pop() ?? newLocalPart(), domain);
  await onFreeAddress({ parts, isRandom: true }, async (free) => {
    const { sink } = await store.inboxes.findTakers(free.address, now);
    if (sink) return;
    const account = await store.accounts.findFirst();
    if (!account) throw new Error('there is no account for the sink');
    const inbox = {
      id: newId('inb', now),
      kind: 'sink' as const,
      ...free,
      labels: SINK_LABELS,
      // No client gets this token.
      tokenHash: hashCredential(newCredential('mft')),
      ttlMinutes: 0,
      ...{ createdAt: now, expiresAt: PERMANENT_UNTIL, maxExpiresAt: PERMANENT_UNTIL },
    };
    await store.inboxes.create(account.id, inbox, Number.POSITIVE_INFINITY, null);
  });
}
