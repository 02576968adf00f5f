/** The largest valid body (labels at their limits, escaped) stays well below. */
export const MAX_BODY_BYTES = 64 * 1024;
/** Node's own default, named: a credential, a host and a few tracing headers need less. */
export const MAX_HEADER_BYTES = 16 * 1024;
/** A connection without traffic: twice as long as the longest held request. */
export const IDLE_CONNECTION_MS = 120_000;
/** How often connections are checked against the time limits, which may end late by so much. */
export const CONNECTION_CHECK_MS = 1_000;
/**
 * Bytes of a body that are read and dropped after an error response to a client without a valid credential, so
 * that a client with a small body can keep its connection. Larger than any JSON body that is allowed.
 */
export const MAX_DISCARDED_BYTES = 128 * 1024;

/** Limits of connections. Times are milliseconds. */
export const CONNECTION_LIMITS = {
  /** Each held wait is one connection; beyond this, memory for sockets would crowd out the mail. */
  maxConnections: 10_000,
  /** A fifth of all: twice the requests that one account may hold, and five clients are needed to use all. */
  maxConnectionsPerAddress: 2_000,
  /** Unanswered requests of one connection beside the first. Load generators pipeline some, other clients none. */
  maxPipelined: 20,
  /** A client that has not finished its headers by then is broken or hostile. */
  headersTimeoutMs: 10_000,
  /**
   * The same for a whole request: an injected message of the largest size (50 MiB) at 7 Mbit/s. Longer would let
   * a slow client keep the memory that all mails in flight share.
   */
  requestTimeoutMs: 60_000,
  /** A client that reads nothing of a large response for so long has hung. */
  unreadResponseMs: 30_000,
  /** Longer than the idle time of common load balancers (60 s), so that they close first and no request is lost. */
  keepAliveMs: 72_000,
};

export type ConnectionLimits = typeof CONNECTION_LIMITS;

/**
 * A tenth of all connections: hundreds of parallel tests wait at once, and no account takes the place of all
 * others.
 */
export const MAX_HELD_PER_ACCOUNT = 1_000;
/** Ids are 30 letters; a longer parameter is answered as any unknown id. */
export const MAX_PARAMETER = 1_000;
/** Undoing a transfer encoding takes the main thread a millisecond a megabyte; longer parts go to a worker. */
export const DECODED_HERE_BYTES = 256 * 1024;
/** Each decoding holds a whole message in memory, and the parse workers are few; two at most are of one account. */
export const MAX_DECODINGS = 3;
/** One collision of random addresses is unlikely already; five mean that the generator is broken. */
export const ADDRESS_ATTEMPTS = 5;
/** Responses kept ready: some thousand lists or messages that are read again and again. */
export const RESPONSE_CACHE_BYTES = 16 * 1024 * 1024;
/** Larger ones are rare, and would push many small ones out. */
export const MAX_CACHED_RESPONSE_BYTES = 256 * 1024;
/** A stream says so often that it is still there, milliseconds: below the idle timeout of common proxies. */
export const STREAM_QUIET_MS = 15_000;
/** A reader that took nothing for so long, milliseconds, has hung; a slow network is never that slow. */
export const STREAM_STALLED_MS = 30_000;
/** Clients resume a stream after so long, milliseconds: soon, and yet not all at once in a loop. */
export const STREAM_RETRY_MS = 1_000;
/** Bytes of responses that one account's clients have not read yet: some hundred pages, or three large messages. */
export const MAX_UNREAD_BYTES_PER_ACCOUNT = 64 * 1024 * 1024;
/** The same for all accounts together: what a server with 512 MiB can spare beside the mail in flight. */
export const MAX_UNREAD_BYTES = 192 * 1024 * 1024;
/** Smaller responses are not counted: the limit of connections bounds them. */
export const SMALL_RESPONSE_BYTES = 16 * 1024;
/** What a streamed response holds: the piece that is being written and the next one. */
export const STREAM_BYTES = 512 * 1024;
