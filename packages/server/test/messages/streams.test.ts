import { describe, expect, it } from 'vitest';
import { chance } from '../support/chance.ts';
import { type Block, openStream } from '../support/event-stream.ts';
import { sendMail } from '../support/mail/smtp-mail.ts';
import { TEST_KEY, type TestApp, useApp } from '../support/start-app.ts';

const CUTS = 50;
const SENDERS = 4;
/** So many mails are surely more than the cuts need. */
const MAX_MAILS = 3_000;

/** What a reader has seen; it goes on where it was cut. */
class Follower {
  readonly seen: Block[] = [];
  cuts = 0;
  readonly #url: string;
  #last: string | undefined;

  constructor(url: string) {
    this.#url = url;
  }

  /** Reads until the connection is cut, after so many bytes, or until `enough` says so. */
  async read(cutAfter: number, enough: () => boolean = () => false): Promise<void> {
    const reader = await openStream(this.#url, { as: TEST_KEY, lastEventId: this.#last, cutAfter });
    while (!enough()) {
      const block = await reader.next();
      if (!block) break;
      this.#last = block.id ?? this.#last;
      if (block.data) this.seen.push(block);
    }
    reader.close();
    this.cuts++;
  }

  get ids(): string[] {
    return this.seen.map(({ data }) => data.message.id);
  }
}

const random = chance();

describe(`streams under load (seed ${random.seed})`, () => {
  const app = useApp();

  it(`show every message once to readers that are cut ${CUTS} times`, async () => {
    const watched = await app.createInbox();
    const inboxes = [watched, await app.createInbox(), await app.createInbox()];
    const ofInbox = new Follower(`${app.url}/v1/inboxes/${watched.id}/events`);
    const ofAccount = new Follower(`${app.url}/v1/events`);
    const followers = [ofInbox, ofAccount];
    const isOver = () => followers.every(({ cuts }) => cuts >= CUTS);
    let mails = 0;
    const sending = Array.from({ length: SENDERS }, async () => {
      while (!isOver() && mails < MAX_MAILS) {
        mails++;
        // Sometimes to several at once: one mail, a message in each inbox.
        const recipients = inboxes.filter(() => random.between(0, 2) > 0).map(({ address }) => address);
        await sendMail(app.smtp.port, recipients.length > 0 ? recipients : [watched.address]);
      }
    });
    const following = followers.map(async (follower) => {
      while (follower.cuts < CUTS) await follower.read(random.between(1, 3_000), isOver);
    });
    await Promise.all([...sending, ...following]);

    const stored = new Map<string, string[]>();
    for (const { id } of inboxes) stored.set(id, await idsIn(app, id));
    const ofWatched = stored.get(watched.id) ?? [];
    const everything = [...stored.values()].flat();
    await ofInbox.read(Number.POSITIVE_INFINITY, () => ofInbox.seen.length >= ofWatched.length);
    await ofAccount.read(Number.POSITIVE_INFINITY, () => ofAccount.seen.length >= everything.length);
    expect(Math.min(ofInbox.cuts, ofAccount.cuts)).toBeGreaterThan(CUTS);
    expect(ofWatched.length).toBeGreaterThan(CUTS / 2);
    expect(ofInbox.ids).toEqual(ofWatched);
    expect(ofAccount.ids.toSorted()).toEqual(everything.toSorted());
    // Within each inbox the account's stream has the inbox's order.
    for (const [inboxId, ids] of stored) {
      const mine = ofAccount.seen.filter(({ data }) => data.inboxId === inboxId);
      expect(mine.map(({ data }) => data.message.id)).toEqual(ids);
    }
  });
});

/** The ids of all messages of an inbox, oldest first. */
async function idsIn(app: TestApp, inboxId: string): Promise<string[]> {
  const ids: string[] = [];
  for (let before = ''; ; ) {
    const { body } = await app.api('GET', `/v1/inboxes/${inboxId}/messages?limit=200${before}`);
    ids.push(...body.messages.map(({ id }: { id: string }) => id));
    if (!body.hasMore) return ids.toReversed();
    before = `&before=${ids.at(-1)}`;
  }
}
