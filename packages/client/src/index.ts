/**
 * `@mayfly/client`: disposable inboxes for tests. `Mayfly` makes requests, `Inbox` waits for mail, `Message`
 * has codes and links. It also runs in browsers and workers, because it uses no API of Node.js.
 */
import { verify } from './webhook.ts';

export type { Keys, Webhooks } from './account.ts';
export {
  AmbiguousError,
  ApiError,
  ConnectionError,
  GoneError,
  LimitError,
  MayflyError,
  NoCodeError,
  NotFoundError,
  ScopeError,
  UnexpectedMessageError,
  WaitTimeoutError,
  WebhookVerificationError,
} from './errors.ts';
export type * as api from './generated/api.ts';
export {
  type CodeWait,
  type Exactly,
  Inbox,
  type InboxData,
  type LinkWait,
  type MessageQuery,
  type MessageWait,
  type Silence,
  type WaitOptions,
} from './inbox.ts';
export { describeMatch, type Match } from './match.ts';
export { type CreateOptions, Mayfly, type SearchQuery } from './mayfly.ts';
export { type LinkMatch, Message, MessageSummary } from './message.ts';
export type { MessageEvent, StreamOptions } from './stream.ts';
export type { TestTime } from './test-time.ts';
export {
  type CallArguments,
  type CallInput,
  type ListOptions,
  type MayflyOptions,
  type Milliseconds,
  type RequestInfo,
  type RequestOptions,
  Transport,
} from './transport.ts';

/** For endpoints: `webhook.verify(body, headers, secret)`. */
export const webhook: { verify: typeof verify } = { verify };
