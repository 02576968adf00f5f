import { type ClientRequest, get, type IncomingMessage } from 'node:http';

/** One block of a stream: an event, a comment, or fields without data. */
export interface Block {
  event?: string;
  id?: string;
  retry?: string;
  comment?: string;
  // biome-ignore lint/suspicious/noExplicitAny: a test looks into whatever came.
  data?: any;
}

/** A reader of server-sent events on a socket of its own. */
export type EventReader = Awaited<ReturnType<typeof openStream>>;

export interface StreamOptions {
  as: string;
  /** Sent as `Last-Event-ID`. */
  lastEventId?: string | undefined;
  /** Cuts the connection after this many bytes. */
  cutAfter?: number;
}

function toBlock(text: string): Block {
  const block: Block = {};
  for (const line of text.split('\n')) {
    const [, field = '', value = ''] = /^([a-z]*): ?(.*)$/.exec(line) ?? [];
    if (field === '') block.comment = value;
    else if (field === 'data') block.data = JSON.parse(value);
    else if (field === 'event' || field === 'id' || field === 'retry') block[field] = value;
    else throw new Error(`not a line of an event stream: ${line}`);
  }
  return block;
}

/** Opens a stream; resolves with the response headers. */
export async function openStream(url: string, options: StreamOptions) {
  const { as, lastEventId, cutAfter = Number.POSITIVE_INFINITY } = options;
  const headers = {
    authorization: `Bearer ${as}`,
    ...(lastEventId === undefined ? {} : { 'last-event-id': lastEventId }),
  };
  let request: ClientRequest | undefined;
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    request = get(url, { headers, agent: false }, resolve).on('error', reject);
  });
  const blocks: Block[] = [];
  let text = '';
  let bytes = 0;
  let ended = false;
  let wake = (): void => undefined;
  const over = (): void => {
    ended = true;
    wake();
  };
  response.setEncoding('utf8');
  response.on('data', (piece: string) => {
    const left = cutAfter - bytes;
    bytes += piece.length;
    text += piece.slice(0, left);
    const parts = text.split('\n\n');
    text = parts.pop() ?? '';
    blocks.push(...parts.map(toBlock));
    if (bytes >= cutAfter) {
      request?.destroy();
      over();
    }
    wake();
  });
  response.on('end', over).on('close', over).on('error', over);

  /** @returns the next block; undefined when the stream has ended or was cut */
  const next = async (): Promise<Block | undefined> => {
    for (;;) {
      const block = blocks.shift();
      if (block || ended) return block;
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
    }
  };
  return {
    status: response.statusCode ?? 0,
    headers: response.headers,
    next,
    /** @returns the next event; skips comments */
    async nextEvent(): Promise<Block | undefined> {
      for (;;) {
        const block = await next();
        if (!block || block.data !== undefined) return block;
      }
    },
    pause: () => response.pause(),
    resume: () => response.resume(),
    /** Cuts the connection. */
    close(): void {
      request?.destroy();
      over();
    },
  };
}
