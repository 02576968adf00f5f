import { expect, it } from 'vitest';
import type { Body } from '../support/api-client.ts';
import { type Chance, chance } from '../support/chance.ts';
import { inForm } from '../support/form.ts';
import { rcpt } from '../support/mail/smtp-mail.ts';
import { describeOnEngines, useServers } from '../support/nodes.ts';
import type { TestApp } from '../support/start-app.ts';

const STEPS = inForm(120, 1_500);
/** Refusals count from so long before a wait, and what a busy machine may add to it. */
const [WINDOW_MS, SLACK_MS] = [30_000, 5_000];
/** Explanations show so many messages. */
const MAX_SEEN = 20;

/** A message as the model knows it. */
interface Mail {
  id: string;
  subject: string;
  hasCode: boolean;
}

/** A live inbox as the model knows it. */
interface Box {
  id: string;
  address: string;
  /** Oldest first. */
  mails: Mail[];
  /** How many it has received, deleted ones included. */
  received: number;
  /** In the order of the creations, from 1. */
  number: number;
}

/** Addresses of one family are near misses of each other: two letters differ at most. Those of others are not. */
const FAMILIES = ['orders-alpha', 'newsletter-tango', 'unrelated-zulu'];

/** The truth, and the operations that change it. */
class World {
  readonly boxes: Box[] = [];
  /** Refused addresses, with the number of inboxes that were created before, and when. */
  readonly refused = new Map<string, { created: number; at: number }>();
  readonly #apps: readonly TestApp[];
  readonly #random: Chance;
  #count = 0;
  #created = 0;

  constructor(apps: readonly TestApp[], random: Chance) {
    this.#apps = apps;
    this.#random = random;
  }

  pick<T>(list: readonly T[]): T {
    return list[this.#random.between(0, list.length - 1)] as T;
  }

  get app(): TestApp {
    return this.pick(this.#apps);
  }

  /** An address of a family that nothing had before. */
  #newAddress(): string {
    const letters = 'abcdefghijklmnopqrstuvwxyz';
    const n = this.#count++;
    const tail = `${letters[Math.floor(n / 26) % 26]}${letters[n % 26]}`;
    return `${this.pick(FAMILIES)}${tail}@mayfly.test`;
  }

  async create(): Promise<void> {
    const address = this.#newAddress();
    const { id } = await this.app.createInbox({ address });
    this.boxes.push({ id, address, mails: [], received: 0, number: ++this.#created });
  }

  async send(box: Box): Promise<void> {
    const hasCode = this.#random.between(0, 1) === 1;
    const subject = `${this.pick(['Welcome', 'Sign in'])} ${this.#count++}`;
    const text = hasCode ? 'Your code is 482913.' : 'Nothing to see.';
    await this.app.send({ from: 'app@shop.example', to: box.address, subject, text });
    const { body } = await this.app.api('GET', `/v1/inboxes/${box.id}/messages?limit=1`);
    box.mails.push({ id: body.messages[0].id, subject, hasCode });
    box.received++;
  }

  /** A sender mistypes an address. */
  async refuse(): Promise<void> {
    const address = this.#newAddress();
    expect(await rcpt(this.app.smtp.port, address)).toMatch(/^550 5\.1\.1/);
    this.refused.set(address, { created: this.#created, at: Date.now() });
    // Refusals are written behind the reply; another server knows nothing of what is not written yet.
    const path = `/v1/refusals?address=${encodeURIComponent(address)}`;
    await expect.poll(async () => (await this.app.api('GET', path)).body.refusals).toHaveLength(1);
  }

  async deleteMail(box: Box): Promise<void> {
    const mail = box.mails.splice(this.#random.between(0, box.mails.length - 1), 1)[0];
    if (!mail) return;
    expect((await this.app.api('DELETE', `/v1/inboxes/${box.id}/messages/${mail.id}`)).status).toBe(204);
  }

  async empty(box: Box): Promise<void> {
    box.mails = [];
    await this.app.api('DELETE', `/v1/inboxes/${box.id}/messages`);
  }

  async end(box: Box): Promise<void> {
    this.boxes.splice(this.boxes.indexOf(box), 1);
    const [method, path] = this.pick([
      ['DELETE', ''],
      ['POST', '/expire'],
    ] as const);
    expect((await this.app.api(method, `/v1/inboxes/${box.id}${path}`)).status).toBe(204);
  }
}

const familyOf = (address: string): string => FAMILIES.find((family) => address.startsWith(family)) ?? '';

type Conditions = { subject: string; code?: boolean };
const CONDITIONS: Conditions[] = [
  { subject: 'Reset' },
  ...['Welcome', 'Sign in'].map((subject) => ({ subject, code: true })),
];
/** More than ever arrive, so that every wait is in vain. */
const WANTED = 50;

/** The conditions that a mail does not meet. */
const failedOf = ({ subject, hasCode }: Mail, conditions: Conditions): string[] => [
  ...(subject.includes(conditions.subject) ? [] : ['subject']),
  ...(conditions.code && !hasCode ? ['code'] : []),
];

const counted = (count: number, noun: string): string => `${count} ${noun}${count === 1 ? '' : 's'}`;

/** What the summary may begin with. */
function claims(box: Box, conditions: Conditions): string[] {
  const failed = box.mails.map((mail) => failedOf(mail, conditions));
  const others = failed.filter((names) => names.length > 0);
  const matching = failed.length - others.length;
  if (failed.length === 0) {
    if (box.received === 0)
      return ['No message has arrived so far: this wait checked once, without waiting.'];
    if (box.received === 1) return ['The only message that this inbox has received was deleted.'];
    return [`All ${box.received} messages that this inbox has received were deleted.`];
  }
  if (matching > 0) {
    const rest =
      others.length === 0 ? '' : `; ${counted(others.length, 'other message')} arrived and did not match`;
    return [`${matching} of ${WANTED} messages arrived${rest}.`];
  }
  const demands: Record<string, string> = {
    subject: `has "${conditions.subject}" in its subject`,
    code: 'has a code',
  };
  const common = ['subject', 'code'].filter((one) => others.every((names) => names.includes(one)));
  const possible = common.length > 0 ? common.map((one) => demands[one]) : ['meets all conditions'];
  return possible.map((demand) => `${counted(others.length, 'message')} arrived; none ${demand}.`);
}

/** Compares an explanation with the truth. */
function check(world: World, box: Box, conditions: Conditions, explanation: Body): void {
  const unmatched = box.mails.filter((mail) => failedOf(mail, conditions).length > 0);
  expect(explanation.seenCount, JSON.stringify([box, conditions, explanation])).toBe(unmatched.length);
  const subjects = unmatched.map(({ subject }) => subject).toReversed();
  expect(explanation.seen.map(({ message }: Body) => message.subject)).toEqual(subjects.slice(0, MAX_SEEN));
  // Refused while the inbox existed, and not long before the wait. What other live inboxes received was meant for them.
  const refusedWithin = (ms: number) =>
    [...world.refused]
      .filter(([, { created, at }]) => created >= box.number && at > Date.now() - ms)
      .map(([address]) => address);
  const isSimilar = (address: string) => familyOf(address) === familyOf(box.address);
  const misses: Body[] = explanation.nearMisses;
  const missed = misses.map(({ address }: Body) => address);
  expect(missed).toEqual(expect.arrayContaining(refusedWithin(WINDOW_MS - SLACK_MS).filter(isSimilar)));
  for (const miss of misses) {
    expect(miss).toMatchObject({ outcome: 'refused', inboxId: null, times: 1 });
    expect(refusedWithin(WINDOW_MS + SLACK_MS).filter(isSimilar)).toContain(miss.address);
  }
  const { summary } = explanation;
  const [begin] = claims(box, conditions).filter((claim) => summary.startsWith(claim));
  expect(begin, `${summary} is not one of ${claims(box, conditions)}`).toBeDefined();
  // A guess, where nothing else is known.
  for (const { address, reason } of explanation.otherMail) {
    expect([reason, missed.length, box.mails.length]).toEqual(['refused', 0, 0]);
    expect(refusedWithin(WINDOW_MS + SLACK_MS)).toContain(address);
  }
  const named = misses.filter(({ address }: Body) => summary.includes(`Mail for ${address} was refused`));
  expect(named).toHaveLength(Math.min(misses.length, 1));
}

describeOnEngines('explanations while all kinds of things happen', (engine) => {
  const random = chance();
  const { apps } = useServers(engine);

  it(`say exactly what is true, step by step (TEST_SEED=${random.seed})`, async () => {
    const world = new World(apps, random);
    const explain = async (box: Box): Promise<void> => {
      const match = world.pick(CONDITIONS);
      const body = { match, count: WANTED, timeoutSeconds: 0 };
      const answer = await world.app.api('POST', `/v1/inboxes/${box.id}/wait`, { body });
      check(world, box, match, answer.body.explanation);
    };
    for (let n = 0; n < 4; n++) await world.create();
    for (let step = 0; step < STEPS; step++) {
      if (world.boxes.length < 3) await world.create();
      const box = world.pick(world.boxes);
      const chosen = random.between(1, 20);
      if (chosen <= 8) await world.send(box);
      else if (chosen <= 10) await world.deleteMail(box);
      else if (chosen === 11) await world.empty(box);
      else if (chosen === 12 && world.boxes.length > 3) await world.end(box);
      else if (chosen === 13 && world.refused.size < 15) await world.refuse();
      else if (chosen === 14 && world.boxes.length < 8) await world.create();
      else await explain(box);
    }
  });
});
