import type { Clock } from '../clock.ts';
import type { MetFault } from '../faults/sql.ts';
import type { Trail, TrailEvent, TrailStep } from '../messages/trail.ts';

/** Which earlier steps a step replaces: a transaction those of the one before, a recipient another. */
const REPLACES: Partial<Record<TrailEvent, TrailEvent[]>> = {
  tls: ['authenticated'],
  'mail-from': ['mail-from', 'rcpt-to', 'data'],
  'rcpt-to': ['rcpt-to'],
};

/** Such as `Rule 1 at end-of-data: 451 4.7.1 Greylisted, delayed by 2000 ms`. */
function detailOf({ rule, at, reply, delayMs, disconnect }: MetFault): string {
  const effects = [
    ...(reply ? [`${reply.code} ${reply.text}`] : []),
    ...(disconnect ? ['connection closed'] : []),
    ...(delayMs > 0 ? [`delayed by ${delayMs} ms`] : []),
  ];
  return `Rule ${rule} at ${at}: ${effects.join(', ')}`;
}

/** What happened in an SMTP session and when, by the wall clock, for the timeline of each message of it. */
export class SessionTrail {
  readonly #clock: Clock;
  /** In their order, with the inbox whose fault a step was. */
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

  /** The next message that is stored in this inbox shows it; more than 20 are more than a test of retries needs. */
  fault(met: MetFault, inboxId: string): void {
    if (this.#steps.filter(({ event }) => event === 'fault').length >= 20) return;
    this.#steps.push({ event: 'fault', at: this.#clock.now(), detail: detailOf(met), inboxId });
  }

  /**
   * @returns all steps of a whole message, without the faults of other inboxes: all who have the message read them,
   *   so for recipients of several accounts there are none
   */
  endOfData(recipients: readonly { inboxId: string; accountId: string }[]): Trail {
    const isShared = new Set(recipients.map(({ accountId }) => accountId)).size > 1;
    const inboxes = new Set(isShared ? [] : recipients.map(({ inboxId }) => inboxId));
    const own = this.#steps.filter(({ inboxId }) => inboxId === undefined || inboxes.has(inboxId));
    const steps = own.map(({ event, at, detail }): TrailStep => ({ event, at, detail }));
    return [...steps, { event: 'end-of-data', at: this.#clock.now() }];
  }

  /** The message was stored, and shows the faults before it. */
  stored(): void {
    this.#steps = this.#steps.filter(({ event }) => event !== 'fault');
  }
}
