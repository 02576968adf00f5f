import type { Clock } from '../clock.ts';
import type { Trail, TrailEvent, TrailStep } from '../store/contract/trail.ts';

/** A step, and the inbox whose fault it was. */
type Step = TrailStep & { inboxId?: string };

/** Faults of a session that a trail shows: more than a test of retries needs. */
const MAX_FAULTS = 20;

/**
 * When what happened in an SMTP session, for the timeline of each message of it. All times are those of the wall
 * clock, as `receivedAt` is, so that they can be compared with it and with what the headers say.
 */
export class SessionTrail {
  readonly #clock: Clock;
  /**
   * In the order in which they happened: those of the connection, the faults since the last message that was
   * stored, and the present transaction.
   */
  #steps: Step[];

  /** @param connectedAt when the connection was accepted, epoch milliseconds */
  constructor(clock: Clock, connectedAt: number) {
    this.#clock = clock;
    this.#steps = [{ event: 'connected', at: connectedAt }];
  }

  /** The connection is encrypted: the client has to authenticate again. @param cipher protocol and cipher */
  secured(cipher: string): void {
    this.#drop('authenticated');
    this.#add('tls', cipher);
  }

  /** @param isCaptured whether the session's mail goes to the inbox of the credentials */
  authenticated(isCaptured: boolean): void {
    this.#add('authenticated', isCaptured ? 'inbox' : undefined);
  }

  /**
   * A fault of an inbox was applied. The next message that is stored in that inbox shows it.
   * @param detail such as `451 at end-of-data`
   */
  fault(detail: string, inboxId: string): void {
    const faults = this.#steps.filter(({ event }) => event === 'fault').length;
    if (faults < MAX_FAULTS) this.#steps.push({ event: 'fault', at: this.#clock.now(), detail, inboxId });
  }

  /** MAIL: a transaction begins, and the one before is dropped. */
  mail(): void {
    this.#drop('mail-from', 'rcpt-to', 'data');
    this.#add('mail-from');
  }

  /** A recipient was accepted; the time of the last one is kept. */
  rcpt(): void {
    this.#drop('rcpt-to');
    this.#add('rcpt-to');
  }

  data(): void {
    this.#add('data');
  }

  /**
   * The message is there as a whole.
   * @returns all steps so far, without the faults of other inboxes: all who have the message read them, so for
   *   recipients of several accounts there are none
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
    this.#drop('fault');
  }

  #add(event: TrailEvent, detail?: string): void {
    this.#steps.push({ event, at: this.#clock.now(), detail });
  }

  #drop(...events: TrailEvent[]): void {
    this.#steps = this.#steps.filter(({ event }) => !events.includes(event));
  }
}
