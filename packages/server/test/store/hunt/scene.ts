import type { InboxRecord, NewInbox } from '../../../src/inboxes/records.ts';
import type { Store } from '../../../src/store.ts';
import type { Chance } from '../../support/chance.ts';
import { accountAt, inboxAt, keyOf, mailTo, webhookAt } from '../builders.ts';

/** Live inboxes and webhooks that an account of the hunt may have. */
export const MAX_LIVE = 12;
export const MAX_WEBHOOKS = 20;
export const MONTH = '2027-01';
/** Requests that each account may use in the month. */
export const QUOTA = 400;
/** Inboxes and messages that the calls of the hunt choose from: the newest. */
const KEPT = 16;

/** Errors that a caller has to expect where others change the same things. */
const EXPECTED = ['address_taken', 'limit_reached', 'unauthorized', 'not_found', 'inbox_expired'];

export type Hook = { accountId: string; id: string };
export type Message = { accountId: string; inboxId: string; messageId: string };

/** What the calls of a hunt share: the things that they meet at. */
export class Scene {
  readonly random: Chance;
  readonly now: () => number;
  accounts: string[] = [];
  inboxes: InboxRecord[] = [];
  messages: Message[] = [];
  hooks: Hook[] = [];
  /** What the hunt did with which outcome; compared with the tables at its end. */
  readonly books = {
    /** Messages of each inbox that were stored. */
    received: new Map<string, number>(),
    /** Waits of each inbox. */
    waits: new Map<string, number>(),
    /** Requests of each account that were leased, less those that were returned. */
    leased: new Map<string, number>(),
    requests: new Map<string, number>(),
    /** Inboxes that creations with one idempotency key returned. */
    replays: new Map<string, Set<string>>(),
    /** Applications of faults that were asked for, and those that were taken. */
    faults: new Map<string, { set: number; spent: number }>(),
    /** Accounts whose deletion resolved. */
    deleted: new Set<string>(),
  };

  constructor(random: Chance, now: () => number) {
    this.random = random;
    this.now = now;
  }

  readonly oneIn = (n: number): boolean => this.random.between(1, n) === 1;
  readonly pick = <X>(all: readonly X[]): X => all[this.random.between(0, all.length - 1)] as X;
  readonly some = <X>(all: readonly X[], most: number): X[] => [
    ...new Set(Array.from({ length: this.random.between(1, most) }, () => this.pick(all))),
  ];

  /** One of few addresses, so that several callers want the same. */
  address(): string {
    return `name-${this.random.between(1, 25)}@${this.pick(['a', 'b'])}.mayfly.test`;
  }

  count(counts: Map<string, number>, key: string, more = 1): void {
    counts.set(key, (counts.get(key) ?? 0) + more);
  }

  /** A new inbox, as a caller asks for it. */
  wanted(changes: Partial<NewInbox> = {}): NewInbox {
    const createdAt = this.now();
    const labels: Record<string, string> = this.oneIn(3) ? {} : { run: String(this.random.between(1, 4)) };
    const address = this.oneIn(2) ? { address: this.address() } : {};
    const lifeMs = this.pick([30_000, 600_000, 3_600_000]);
    return inboxAt({ labels, createdAt, expiresAt: createdAt + lifeMs, ...address, ...changes });
  }

  keep(inbox: InboxRecord): void {
    this.inboxes = [...this.inboxes, inbox].slice(-KEPT);
  }

  keepHook(hook: Hook): void {
    this.hooks = [...this.hooks, hook].slice(-KEPT);
  }

  webhook = (inboxId: string | null) => webhookAt({ inboxId, createdAt: this.now() });

  key = (accountId: string) => keyOf(accountId, { createdAt: this.now() });

  /** Adds an account with a key and a webhook. */
  async addAccount(node: Store): Promise<string> {
    const account = accountAt();
    const { id } = account;
    await node.accounts.create(account, this.key(id));
    const webhook = this.webhook(null);
    await node.webhooks.create(id, webhook, 1e6);
    this.accounts = [...this.accounts, id];
    this.keepHook({ accountId: id, id: webhook.id });
    return id;
  }

  /** Stores mails to some inboxes. */
  async addMails(node: Store, inboxes: readonly InboxRecord[] = this.inboxes): Promise<void> {
    const mails = Array.from({ length: this.random.between(1, 6) }, () => {
      // One in some has several pieces.
      const raw = this.oneIn(12) ? { raw: new Uint8Array(this.pick([300_000, 700_000])) } : {};
      return mailTo(this.some(inboxes, 4), { maxMessages: 1e6, ...raw });
    });
    // Some drop the oldest messages, as the sink does.
    for (const recipient of mails.flatMap(({ recipients }) => recipients)) {
      if (this.oneIn(10)) Object.assign(recipient, { maxMessages: 15, evictsOldest: true });
    }
    for (const one of (await node.messages.addBatch(mails, this.now())).flat()) {
      if (!('messageId' in one)) continue;
      this.count(this.books.received, one.inboxId);
      this.messages.push(one);
    }
    this.messages = this.messages.slice(-4 * KEPT);
  }

  /** The result of a call, or undefined where it failed because others had changed things. */
  async allowed<T>(call: Promise<T>): Promise<T | undefined> {
    try {
      return await call;
    } catch (error) {
      if (error instanceof Error && 'code' in error && EXPECTED.includes(String(error.code)))
        return undefined;
      throw error;
    }
  }
}
