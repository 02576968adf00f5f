/** Limit of a JSON body. The largest valid one (labels at their limits, escaped) is well below. */
export const MAX_BODY_BYTES = 64 * 1024;
/** Node's default. A credential, a host and a few tracing headers need less. */
export const MAX_HEADER_BYTES = 16 * 1024;
/** A connection without traffic for this long is closed, even while its client does not read a response. Twice the longest held request. */
export const IDLE_CONNECTION_MS = 120_000;
/** Interval of checks for the time limits of connections; a connection may be closed this much late. */
export const CONNECTION_CHECK_MS = 1_000;
/** Up to this many bytes of a body are dropped after an error, so that the connection stays usable. More than any valid JSON body has. */
export const MAX_DISCARDED_BYTES = 128 * 1024;

export const CONNECTION_LIMITS = {
  /** Enough for many held waits, each of which is a connection. More sockets would take memory that mail needs. */
  maxConnections: 10_000,
  /** A fifth of maxConnections, and twice the requests that one account may hold. */
  maxConnectionsPerAddress: 2_000,
  /** Unanswered requests of a connection besides the current one. Load generators pipeline some, other clients none. */
  maxPipelined: 20,
  /** A client that takes longer to send its headers is broken or hostile. */
  headersTimeoutMs: 10_000,
  /** Enough for an injected message of 50 MiB at 7 Mbit/s. Longer would let slow clients hold the memory of mail in transit. */
  requestTimeoutMs: 60_000,
  /** Longer than the idle timeout of common load balancers (60 s), so that they close idle connections first and no request is lost. */
  keepAliveMs: 72_000,
};

export type ConnectionLimits = typeof CONNECTION_LIMITS;

/** A tenth of all connections: enough for hundreds of parallel tests, and leaves connections to other accounts. */
export const MAX_HELD_PER_ACCOUNT = 1_000;
/** Longest path parameter. Ids have 30 letters; a longer parameter gets the response for an unknown id. */
export const MAX_PARAMETER = 1_000;
/** Attachments up to this size are decoded on the main thread (1 ms per MB); larger ones go to a worker. */
export const DECODED_HERE_BYTES = 256 * 1024;
/** Concurrent decodings: each holds a whole message in memory, and parse workers are few. One account gets at most two. */
export const MAX_DECODINGS = 3;
/** One collision of random addresses is unlikely; five mean that the generator is broken. */
export const ADDRESS_ATTEMPTS = 5;
/** Interval of keep-alives in a stream, milliseconds: below the idle timeout of common proxies. */
export const STREAM_QUIET_MS = 15_000;
/** A stream whose client has read nothing for this long, milliseconds, is closed, because the client has hung. */
export const STREAM_STALLED_MS = 30_000;
/** Delay of clients before they resume a stream, milliseconds: soon, but not in a busy loop. */
export const STREAM_RETRY_MS = 1_000;
/** Limit of response bytes that the clients of one account have not read yet: some hundred pages, or three large messages. */
export const MAX_UNREAD_BYTES_PER_ACCOUNT = 64 * 1024 * 1024;
