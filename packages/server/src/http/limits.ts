/** Default limit of a JSON body. Valid ones are much smaller, even with the longest, escaped labels. */
export const MAX_BODY_BYTES = 64 * 1024;
export const MAX_HEADER_BYTES = 16 * 1024;
/** A connection without traffic for this long is closed. Twice the longest wait for a message (60 s). */
export const IDLE_CONNECTION_MS = 120_000;
export const CONNECTION_CHECK_MS = 1_000;
/** Limit of body bytes that are dropped after an error. Beyond it, the connection cannot be used again. */
export const MAX_DISCARDED_BYTES = 128 * 1024;

export const CONNECTION_LIMITS = {
  maxConnections: 10_000,
  /** Twice {@link MAX_HELD_PER_ACCOUNT}: waits and streams of one account use at most half of it. */
  maxConnectionsPerAddress: 2_000,
  headersTimeoutMs: 10_000,
  /** Enough for a message of 50 MiB at 7 Mbit/s. Not more, because a slow client holds memory for its mail. */
  requestTimeoutMs: 60_000,
  /** Longer than the idle timeout of common load balancers (60 s), so that they close first and no request is lost. */
  keepAliveMs: 72_000,
};

/** Limit of pipelined requests of a connection. Only load generators do not wait for each response. */
export const MAX_PIPELINED = 20;

export type ConnectionLimits = typeof CONNECTION_LIMITS;

/** Limit of open waits and streams of an account, a tenth of all connections. Hundreds of tests need fewer. */
export const MAX_HELD_PER_ACCOUNT = 1_000;
/** Maximum characters of a path parameter. Ids have 30. */
export const MAX_PARAMETER = 1_000;
/** Attachments up to this size are decoded at once on the main thread (1 ms per MB); larger ones in steps or a worker. */
export const DECODED_HERE_BYTES = 256 * 1024;
/** Limit of concurrent decodings, each of which may hold a whole message in memory. An account gets at most two. */
export const MAX_DECODINGS = 3;
/** Attempts to find a free random address. They fail only if the random generator is broken. */
export const ADDRESS_ATTEMPTS = 5;
/** Interval of keep-alive comments in a stream, below the idle timeout of common proxies. */
export const STREAM_QUIET_MS = 15_000;
/** A stream whose client reads nothing for this long is closed. */
export const STREAM_STALLED_MS = 30_000;
/** Delay before a client reconnects to a stream, sent to it in the field `retry`. */
export const STREAM_RETRY_MS = 1_000;
/** Limit of response bytes that the clients of an account have not read: enough for hundreds of pages of lists. */
export const MAX_UNREAD_BYTES_PER_ACCOUNT = 64 * 1024 * 1024;
