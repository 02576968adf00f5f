import { setTimeout as sleep } from 'node:timers/promises';

/** Yields the data of every event once, also over cut connections and restarts of the server. */
export async function* follow(url: string, credential: string) {
  let last: string | undefined;
  for (;;) {
    const response = await fetch(url, {
      headers: { authorization: `Bearer ${credential}`, ...(last && { 'last-event-id': last }) },
    }).catch(() => undefined); // No connection: the server may be restarting.
    if (response && response.status >= 400 && response.status < 500 && response.status !== 429) {
      throw new Error(`The stream ended with status ${response.status}: ${await response.text()}`);
    }
    try {
      let text = '';
      for await (const piece of (response?.ok && response.body?.pipeThrough(new TextDecoderStream())) || []) {
        text += piece;
        const blocks = text.split('\n\n');
        text = blocks.pop() ?? ''; // An incomplete block; its id must not be used yet.
        for (const block of blocks) {
          last = /^id: (.*)$/m.exec(block)?.[1] ?? last;
          const data = /^data: (.*)$/m.exec(block)?.[1];
          if (data) yield JSON.parse(data);
        }
      }
    } catch {
      // The connection was cut: resume after the last complete event.
    }
    await sleep(1000);
  }
}
