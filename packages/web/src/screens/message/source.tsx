import type { api } from '@mayfly/client';
import { useEffect, useState } from 'preact/hooks';
import { bytes } from '../../lib/format.ts';
import { mayfly } from '../../lib/session.ts';
import { Button } from '../../ui/basics.tsx';
import { Failure, Loading } from '../../ui/states.tsx';

/** Characters that are shown at once: a browser lays out more of them only slowly. */
const PIECE = 256 * 1_024;

/** The raw source as text, in pieces. */
export function Source({ message }: { message: api.Message }) {
  const [source, setSource] = useState<Uint8Array>();
  const [error, setError] = useState<unknown>();
  const [end, setEnd] = useState(PIECE);
  const [isWrapped, setWrapped] = useState(false);
  const load = () => {
    const controller = new AbortController();
    setError(undefined);
    mayfly
      .call('GET /v1/inboxes/{id}/messages/{messageId}/raw', {
        path: { id: message.inboxId, messageId: message.id },
        signal: controller.signal,
        timeout: 60_000,
      })
      .then(setSource, (failure) => controller.signal.aborted || setError(failure));
    return () => controller.abort();
  };
  useEffect(load, [message.id]);
  if (error !== undefined) return <Failure error={error} retry={load} />;
  if (!source) return <Loading rows={8} />;
  return (
    <>
      <div class="preview-bar">
        <Button aria-pressed={isWrapped} onClick={() => setWrapped(!isWrapped)}>
          Wrap lines
        </Button>
        <span class="muted small">
          {bytes(Math.min(end, source.length))} of {bytes(source.length)}
        </span>
        {end < source.length && <Button onClick={() => setEnd(end + PIECE)}>Show more</Button>}
      </div>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: the text scrolls, also by keyboard. */}
      <pre class={`source ${isWrapped ? 'wrap' : ''}`} tabIndex={0}>
        {new TextDecoder().decode(source.subarray(0, end))}
      </pre>
    </>
  );
}
