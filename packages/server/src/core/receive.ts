import type { MailEnvelope, Refusal } from '../store/store.ts';

/** An address of a RCPT that may receive; what `take` needs to know of it. */
export interface Recipient {
  inboxId: string;
  accountId: string;
  /** Lower case, without a tag. */
  address: string;
  /** As the RCPT command gave it. */
  rcptTo: string;
  maxMessages: number;
  maxMessageBytes: number;
}

/** The rules of receiving, as the SMTP conversation asks for them. */
export interface Receiver {
  /**
   * May mail go to this address?
   * @param address the path of the RCPT command, as given
   * @param declaredBytes the SIZE parameter of the MAIL command, or 0
   * @throws AppError `unknown_recipient` (one answer for never, expired and deleted), `inbox_full`,
   *   `message_too_large`, `unavailable`
   */
  accept(address: string, declaredBytes: number): Promise<Recipient>;
  /**
   * Takes a mail in. Resolves when it is on stable storage and readable by everyone, and only then
   * may the sender hear 250.
   * @param received the bytes between DATA and its end, dots unstuffed, nothing else changed
   * @param session the SMTP session's id, for the Received line and the log
   * @throws AppError `message_too_large`, `unknown_recipient` or `inbox_full` when none of the
   *   recipients can have it any more, `unavailable`
   */
  take(envelope: MailEnvelope, recipients: Recipient[], received: Uint8Array, session: string): Promise<void>;
  /**
   * Remembers a refusal for the owner's explanations, if its address is on a served domain; never
   * throws and never delays the reply.
   */
  refused(refusal: Refusal): void;
}
