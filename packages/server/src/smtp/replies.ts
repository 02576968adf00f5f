import { AppError } from '../errors.ts';
import { REPLIES, type Reply } from './protocol/replies.ts';

/**
 * The SMTP reply to a known error. Undefined for anything else: that is a defect, which the caller logs and
 * answers with `tryLater`.
 */
export function replyForError(error: unknown): Reply | undefined {
  if (!(error instanceof AppError)) return undefined;
  switch (error.code) {
    case 'unknown_recipient':
      return REPLIES.noSuchInbox;
    case 'inbox_full':
      return REPLIES.inboxFull;
    case 'message_too_large':
      return REPLIES.messageTooLarge;
    case 'malformed_message':
      return REPLIES.malformedMessage;
    case 'unavailable':
    case 'storage_damaged':
    // Sending the message again may store it twice; losing it would be worse (RFC 5321 section 6.1).
    case 'outcome_unknown':
      return REPLIES.tryLater;
    default:
      return undefined;
  }
}
