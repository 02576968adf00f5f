import type { Clock } from '../clock.ts';
import type { Receiver } from '../inbound/receiver.ts';
import type { Recipient } from '../inbound/recipients.ts';
import type { SessionTrail } from '../inbound/session-trail.ts';
import type { Logger } from '../log.ts';
import type { FaultPoint, MailEnvelope, MetFault } from '../store/contract/index.ts';
import type { Reply } from './replies.ts';

/** What a fault rule does in place of the usual reply. */
export interface Fault {
  /** Null: none. */
  reply: Reply | null;
  /** Whether the connection is closed then. */
  disconnects: boolean;
}

/** Such as `Rule 1 at end-of-data: 451 4.7.1 Greylisted, delayed by 2000 ms`. */
function detailOf({ rule, at, reply, delayMs, disconnect }: MetFault): string {
  const deeds = [
    ...(reply ? [`${reply.code} ${reply.text}`] : []),
    ...(disconnect ? ['connection closed'] : []),
    ...(delayMs > 0 ? [`delayed by ${delayMs} ms`] : []),
  ];
  return `Rule ${rule} at ${at}: ${deeds.join(', ')}`;
}

/** What the rules of one or more inboxes lead to at one point of a session. */
interface FoundFaults {
  /** How long the reply is delayed, milliseconds. */
  delayMs: number;
  /** Undefined where the usual reply is given after the delay. */
  fault: Fault | undefined;
}

export interface SessionFaultsDeps {
  receiver: Pick<Receiver, 'meetFault'>;
  clock: Clock;
  log: Logger;
  /** For the timelines of the messages of the session. */
  trail: Pick<SessionTrail, 'fault'>;
  /** The session's id, for the log. */
  session: string;
  /** Called with true when a delay begins, and with false when it has ended. */
  onDelay(isDelayed: boolean): void;
}

/** The fault rules of inboxes in one session. */
export class SessionFaults {
  readonly #deps: SessionFaultsDeps;
  /** Aborted when delays are to end; made for the first one. */
  #ending: AbortController | undefined;
  #isEnding = false;

  constructor(deps: SessionFaultsDeps) {
    this.#deps = deps;
  }

  /**
   * Takes one application of the rules that are next for this point. SMTP has one reply for all recipients of a
   * message: the inboxes are asked in the order of their RCPT commands, delays add up, and the first rule that
   * replies or disconnects decides; the inboxes after it keep their rules.
   * @throws AppError `unavailable`
   */
  async find(at: FaultPoint, recipients: readonly Recipient[], envelope: MailEnvelope): Promise<FoundFaults> {
    const asked = new Set<string>();
    let delayMs = 0;
    for (const recipient of recipients) {
      if (recipient.faultsOf === undefined || asked.has(recipient.inboxId)) continue;
      asked.add(recipient.inboxId);
      const met = await this.#deps.receiver.meetFault(recipient, at, envelope);
      if (!met) continue;
      delayMs += met.delayMs;
      const { log, session, trail } = this.#deps;
      const { inboxId } = recipient;
      log.info({ session, inbox: inboxId, ...met }, 'A fault rule was applied');
      trail.fault(detailOf(met), inboxId);
      const { reply, disconnect: disconnects } = met;
      if (reply || disconnects) {
        return { delayMs, fault: { reply: reply && { ...reply, enhanced: '' }, disconnects } };
      }
    }
    return { delayMs, fault: undefined };
  }

  /** Resolves after the delay, or when the session ends. */
  async delay(ms: number): Promise<void> {
    if (ms === 0 || this.#isEnding) return;
    const { clock, onDelay } = this.#deps;
    this.#ending ??= new AbortController();
    onDelay(true);
    await clock.sleep(ms, this.#ending.signal);
    onDelay(false);
  }

  /** Ends a delay; there are no more. */
  end(): void {
    this.#isEnding = true;
    this.#ending?.abort();
  }
}
