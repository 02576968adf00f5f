import { AppError } from '../errors.ts';
import { REPLIES, type Reply } from './protocol/replies.ts';

/**
 * The reply to a failure that was meant to be told; undefined for anything else, which is a defect
 * to log, and which the sender hears as `tryLater`.
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
      return REPLIES.tryLater;
    default:
      return undefined;
  }
}
