import { setTimeout as pause } from 'node:timers/promises';
import { openStream } from '../../packages/server/test/support/event-stream.ts';
import type { Findings } from './findings.ts';
import { HonestSender } from './senders.ts';
import { KEY, type Target } from './target.ts';

/** Inboxes that are in use at once; each has two streams and, most of the time, 20 waits. */
const LANES = 25;
const WAITS_PER_LANE = 20;
/** Mails of one inbox before it is checked as a whole and deleted. */
const MAILS_PER_INBOX = 120;
export const MAILS_PER_SECOND = 200;
const INTERVAL_MS = (1000 * LANES) / MAILS_PER_SECOND;
/** Longer than anything should take; a mail that comes later is a wrong answer. */
const WAIT_SECONDS = 60;
const VAIN_WAIT_SECONDS = 5;
/** How much later than its time a wait may end on a machine with other work. */
const LATE_MS = 5_000;
/** Longer than the clock is stepped by, in minutes. */
const TTL_MINUTES = 600;

interface Inbox {
  id: string;
  address: string;
  token: string;
  cursor: string;
}

// biome-ignore lint/suspicious/noExplicitAny: the checks look into whatever came.
type Json = any;

/** One request; anything but the expected status is a wrong answer. */
export async function request(
  { url }: Target,
  findings: Findings,
  { as = KEY, method = 'GET', path, body, expected = [200] }: Request,
): Promise<Json> {
  const response = await fetch(url + path, {
    method,
    headers: { authorization: `Bearer ${as}`, ...(body && { 'content-type': 'application/json' }) },
    ...(body && { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  if (!expected.includes(response.status)) {
    findings.fail(`${method} ${path}: ${response.status} ${text.slice(0, 300)}`);
  }
  return text === '' ? null : JSON.parse(text);
}

interface Request {
  as?: string;
  method?: string;
  path: string;
  body?: object;
  expected?: number[];
}

/** What the lanes hold open now. */
const held = { waits: 0, streams: 0 };

/** Runs all lanes until the signal. */
export async function runLanes(target: Target, findings: Findings, signal: AbortSignal): Promise<void> {
  await Promise.all(
    Array.from({ length: LANES }, async (_, lane) => {
      const sender = new HonestSender(target.smtpPort, findings);
      await pause((lane * INTERVAL_MS) / LANES);
      for (let round = 0; !signal.aborted; round++) {
        await new Episode(target, findings, sender, `l${lane}r${round}`).run(signal).catch((error) => {
          findings.fail(`lane ${lane}: ${error?.stack ?? error}`);
        });
      }
      sender.close();
    }),
  );
}

/** The life of one inbox: created, filled, waited on, followed, listed, deleted; every answer is checked. */
class Episode {
  readonly #target: Target;
  readonly #findings: Findings;
  readonly #sender: HonestSender;
  readonly #name: string;
  readonly #accepted: string[] = [];
  readonly #acceptedAt = new Map<string, number>();
  readonly #openWaits = new Map<string, AbortController>();

  constructor(target: Target, findings: Findings, sender: HonestSender, name: string) {
    this.#target = target;
    this.#findings = findings;
    this.#sender = sender;
    this.#name = name;
  }

  #request(options: Request): Promise<Json> {
    return request(this.#target, this.#findings, options);
  }

  async run(signal: AbortSignal): Promise<void> {
    const body = { ttlMinutes: TTL_MINUTES };
    const inbox: Inbox = await this.#request({ method: 'POST', path: '/v1/inboxes', body, expected: [201] });
    const path = `/v1/inboxes/${inbox.id}`;
    const streams = [inbox.token, KEY].map((as) => this.#follow(`${path}/events`, as));
    const vain = this.#waitInVain(inbox);
    const waits: Promise<void>[] = [];
    const begun = performance.now();
    for (let mail = 0; mail < MAILS_PER_INBOX && !signal.aborted; mail++) {
      const subject = this.#subject(mail);
      // Opened 20 mails ahead, so that as many are held.
      while (waits.length < Math.min(mail + WAITS_PER_LANE, MAILS_PER_INBOX)) {
        waits.push(this.#wait(inbox, this.#subject(waits.length)));
      }
      const early = begun + mail * INTERVAL_MS - performance.now();
      if (early > 0) await pause(early);
      await this.#sender.send(inbox.address, subject, 'reply to the final dot');
      this.#acceptedAt.set(subject, performance.now());
      this.#accepted.push(subject);
    }
    // The run is over: the mails of these waits are not sent any more.
    for (const [subject, wait] of this.#openWaits) if (!this.#acceptedAt.has(subject)) wait.abort();
    await Promise.all([...waits, vain]);
    await this.#checkList(inbox);
    await Promise.all(streams.map(async (stream) => (await stream).check(this.#accepted)));
    await this.#request({ method: 'DELETE', path, expected: [204] });
    await this.#request({ path, expected: [404] });
    this.#findings.count('inboxes checked as a whole');
  }

  #subject(mail: number): string {
    return `${this.#name}-${String(mail).padStart(4, '0')}`;
  }

  /** A wait for one mail. */
  async #wait(inbox: Inbox, subject: string): Promise<void> {
    const wait = new AbortController();
    this.#openWaits.set(subject, wait);
    const request = { match: { subject }, timeoutSeconds: WAIT_SECONDS };
    this.#findings.most('waits held at once', ++held.waits);
    const answer = await this.#explained(inbox, request, wait.signal)
      .catch((error) => {
        if (!wait.signal.aborted) throw error;
      })
      .finally(() => held.waits--);
    if (!answer) return;
    const { body, status } = answer;
    const acceptedAt = this.#acceptedAt.get(subject);
    if (acceptedAt !== undefined) {
      this.#findings.time('250 until the wait is answered', Math.max(0, performance.now() - acceptedAt));
    }
    const [message] = body.messages ?? [];
    const isRight =
      status === 200 && body.matched && body.messages.length === 1 && message?.subject === subject;
    if (!isRight)
      this.#findings.fail(`a wait for ${subject}: ${status} ${JSON.stringify(body).slice(0, 400)}`);
    else if (!message.codes?.[0]?.value) this.#findings.fail(`${subject} has no code`);
    this.#findings.count('waits answered');
  }

  /** Waits for a mail that nobody sends, and for silence: both end at their time, whatever the clock does. */
  async #waitInVain(inbox: Inbox): Promise<void> {
    for (const [what, count, matched] of [
      ['a wait in vain', 1, false],
      ['a wait for silence', 0, true],
    ] as const) {
      const begun = performance.now();
      const match = { subject: 'never-sent' };
      const { body, status } = await this.#explained(inbox, {
        match,
        count,
        timeoutSeconds: VAIN_WAIT_SECONDS,
      });
      const ms = performance.now() - begun;
      const isInTime = ms > VAIN_WAIT_SECONDS * 1000 - 100 && ms < VAIN_WAIT_SECONDS * 1000 + LATE_MS;
      if (status !== 200 || body.matched !== matched || !isInTime) {
        this.#findings.fail(`${what} took ${Math.round(ms)} ms: ${status} matched ${body.matched}`);
      }
      this.#findings.count('waits for nothing');
    }
  }

  async #explained(
    { id, token, cursor }: Inbox,
    body: object,
    signal: AbortSignal | null = null,
  ): Promise<{ status: number; body: Json }> {
    const response = await fetch(`${this.#target.url}/v1/inboxes/${id}/wait`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify({ since: cursor, ...body }),
      signal,
    });
    return { status: response.status, body: await response.json() };
  }

  /** Pages from the first cursor: every accepted mail once, the times never running back. */
  async #checkList({ id, token, cursor }: Inbox): Promise<void> {
    const subjects: string[] = [];
    const times: string[] = [];
    for (let before = ''; ; ) {
      const path = `/v1/inboxes/${id}/messages?since=${cursor}&limit=50${before && `&before=${before}`}`;
      const page = await this.#request({ as: token, path });
      for (const message of page?.messages ?? []) {
        subjects.push(message.subject);
        times.push(message.receivedAt);
      }
      if (!page?.hasMore) break;
      before = page.messages.at(-1).id;
    }
    this.#compare('the list', subjects.toReversed());
    if (times.some((time, index) => index > 0 && time > (times[index - 1] ?? ''))) {
      this.#findings.fail(`${this.#name}: the times of the list run back`);
    }
  }

  /** Follows a stream until it is checked. */
  async #follow(path: string, as: string): Promise<{ check(expected: string[]): Promise<void> }> {
    const reader = await openStream(this.#target.url + path, { as });
    this.#findings.most('streams open at once', ++held.streams);
    const seen: string[] = [];
    const reading = (async () => {
      for (let event = await reader.nextEvent(); event; event = await reader.nextEvent()) {
        seen.push(event.data.message.subject);
      }
    })();
    return {
      check: async (expected) => {
        const end = performance.now() + LATE_MS;
        while (seen.length < expected.length && performance.now() < end) await pause(20);
        reader.close();
        held.streams--;
        await reading;
        this.#compare('a stream', seen);
      },
    };
  }

  #compare(what: string, seen: string[]): void {
    if (seen.join() === this.#accepted.join()) return;
    const missing = this.#accepted.filter((subject) => !seen.includes(subject));
    const twice = seen.filter((subject, index) => seen.indexOf(subject) !== index);
    this.#findings.fail(
      `${this.#name}: ${what} shows ${seen.length} of ${this.#accepted.length}; missing ${missing}; twice ${twice}`,
    );
  }
}
