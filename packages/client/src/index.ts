/**
 * `@mayfly/client`: disposable inboxes for tests. `Mayfly` makes requests, `Inbox` waits for mail, `Message`
 * gives codes and links. Nothing here belongs to Node.js: it runs in browsers and workers too.
 */
export { AmbiguousError, MayflyError } from './errors.ts';
export {
  ApiError,
  ConnectionError,
  GoneError,
  LimitError,
  NotFoundError,
  ScopeError,
  UnexpectedMessageError,
  WaitTimeoutError,
} from './failures.ts';
export type * as api from './generated/api.ts';
export { Inbox, type SilenceOptions, type WaitOptions } from './inbox.ts';
export type { Match } from './match.ts';
export { type CreateOptions, Mayfly } from './mayfly.ts';
export { type LinkMatch, Message } from './message.ts';
export type { FollowOptions, MessageEvent } from './since.ts';
export {
  type CallArguments,
  type CallInput,
  type MayflyOptions,
  type RequestInfo,
  type RequestOptions,
  Transport,
} from './transport.ts';
