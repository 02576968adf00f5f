import { AppError } from '../errors.ts';
import type { InboxRecord } from './records.ts';

/** For changes of the sink's lifetime, and for its deletion while it receives mail. */
const permanentInbox = (): AppError =>
  new AppError(
    'permanent_inbox',
    'This inbox is the sink, which does not expire and cannot be deleted while it takes mail. Empty it with DELETE /v1/inboxes/{id}/messages, or start the server with MAYFLY_SINK=off and delete it then.',
  );

/** @throws AppError `permanent_inbox` for the sink */
export function assertNoSink({ kind }: InboxRecord): void {
  if (kind === 'sink') throw permanentInbox();
}
