import { once } from 'node:events';
import { get, type IncomingMessage } from 'node:http';

/** A reader of server-sent events on bare node:http: a client that does more would be measured, too. */
export interface EventStream {
  /** When the next event that was not yet taken had come whole, by `performance.now()`. */
  next(): Promise<number>;
  close(): void;
}

/** Opens the stream of an inbox or an account. */
export async function openEventStream(url: string, credential: string): Promise<EventStream> {
  const request = get(url, {
    agent: false,
    headers: { authorization: `Bearer ${credential}` },
  });
  const [response]: IncomingMessage[] = await once(request, 'response');
  if (response?.statusCode !== 200) throw new Error(`a stream was answered with ${response?.statusCode}`);
  const times: number[] = [];
  let text = '';
  let wake = (): void => undefined;
  response.setEncoding('utf8').on('data', (piece: string) => {
    const at = performance.now();
    text += piece;
    const blocks = text.split('\n\n');
    text = blocks.pop() ?? '';
    for (const block of blocks) if (block.includes('data:')) times.push(at);
    wake();
  });
  return {
    async next() {
      for (;;) {
        const at = times.shift();
        if (at !== undefined) return at;
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      }
    },
    close: () => request.destroy(),
  };
}
