import type { Clock } from '../clock.ts';
import type { MetFault } from '../faults/sql.ts';
import type { Trail, TrailEvent, TrailStep } from '../mail/trail.ts';

/** Earlier steps that a step removes: MAIL removes those of the previous transaction, RCPT an earlier RCPT. */
const REPLACES: Partial<Record<TrailEvent, TrailEvent[]>> = {
  tls: ['authenticated'],
  'mail-from': ['mail-from', 'rcpt-to', 'data'],
  'rcpt-to': ['rcpt-to'],
};

/** Describes an applied fault rule, such as `Rule 1 at end-of-data: 451 4.7.1 Greylisted, delayed by 2000 ms`. */
function detailOf({ rule, at, reply, delayMs, disconnect }: MetFault): string {
  const effects = [
    ...(reply ? [`${reply.code} ${reply.text}`] : []),
    ...(disconnect ? ['connection closed'] : []),
    ...(delayMs > 0 ? [`delayed by ${delayMs} ms`] : []),
  ];
  return `Rule ${rule} at ${at}: ${effects.join(', ')}`;
}

/** The steps of an SMTP session with wall-clock times, for the timelines of its messages. */
export class SessionTrail {
  readonly #clock: Clock;
  /** Oldest first. `inboxId`: the inbox whose fault rule was applied. */
  #steps: (TrailStep & { inboxId?: string })[];

  constructor(clock: Clock, connectedAt: number) {
    this.#clock = clock;
    this.#steps = [{ event: 'connected', at: connectedAt }];
  }

  add(event: TrailEvent, detail?: string): void {
    const replaced = REPLACES[event];
    if (replaced) this.#steps = this.#steps.filter((step) => !replaced.includes(step.event));
    this.#steps.push({ event, at: this.#clock.now(), detail });
  }

  /** Adds an applied fault rule, which the timeline of the inbox's next message shows. Keeps at most 20. */
  fault(met: MetFault, inboxId: string): void {
    if (this.#steps.filter(({ event }) => event === 'fault').length >= 20) return;
    this.#steps.push({ event: 'fault', at: this.#clock.now(), detail: detailOf(met), inboxId });
  }

  /** The steps without faults of other inboxes; without any faults if several accounts will read the message. */
  endOfData(recipients: readonly { inboxId: string; accountId: string }[]): Trail {
    const isShared = new Set(recipients.map(({ accountId }) => accountId)).size > 1;
    const inboxes = new Set(isShared ? [] : recipients.map(({ inboxId }) => inboxId));
    const own = this.#steps.filter(({ inboxId }) => inboxId === undefined || inboxes.has(inboxId));
    const steps = own.map(({ event, at, detail }): TrailStep => ({ event, at, detail }));
    return [...steps, { event: 'end-of-data', at: this.#clock.now() }];
  }

  /** Removes the fault rules of the stored message, so that later messages do not show them. */
  stored(): void {
    this.#steps = this.#steps.filter(({ event }) => event !== 'fault');
  }
}
