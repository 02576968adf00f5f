import type { api } from '@mayfly/client';
import { useEffect, useRef, useState } from 'preact/hooks';
import { bytes } from '../../lib/format.ts';
import { query, setQuery } from '../../lib/router.ts';
import { mayfly } from '../../lib/session.ts';
import { Button } from '../../ui/basics.tsx';
import { Failure, Loading } from '../../ui/states.tsx';

/** Characters that are shown at once: a browser lays out more of them only slowly. */
const PIECE = 256 * 1_024;

/** The line that the address names, such as that of a finding; 0 for none. */
const lineOf = (search: URLSearchParams): number => Number(search.get('line') ?? 0) || 0;

/** Text with the number of each line beside it, and a mark on the one that is looked for. */
function Lines({ text, isWrapped, line }: { text: string; isWrapped: boolean; line: number }) {
  const mark = useRef<HTMLSpanElement>(null);
  useEffect(() => mark.current?.scrollIntoView({ block: 'center' }), [line, text]);
  const total = text.split('\n').length;
  return (
    <div class={`source ${isWrapped ? 'wrap' : ''}`}>
      {!isWrapped && (
        <pre class="line-numbers" aria-hidden="true">
          {Array.from({ length: total }, (_, index) => index + 1).join('\n')}
        </pre>
      )}
      {line > 0 && line <= total && !isWrapped && (
        <span class="line-mark" ref={mark} style={{ '--line': String(line - 1) }} />
      )}
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: the text scrolls, also by keyboard. */}
      <pre tabIndex={0}>{text}</pre>
    </div>
  );
}

/** The raw source as text, in pieces, or the decoded HTML. */
export function Source({ message }: { message: api.Message }) {
  const [source, setSource] = useState<Uint8Array>();
  const [error, setError] = useState<unknown>();
  const [end, setEnd] = useState(PIECE);
  const [isWrapped, setWrapped] = useState(false);
  const isHtml = query.value.get('of') === 'html' && message.html !== null;
  const line = lineOf(query.value);
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
  const size = isHtml ? (message.html?.length ?? 0) : source.length;
  const shown = isHtml
    ? (message.html ?? '').slice(0, end)
    : new TextDecoder().decode(source.subarray(0, end));
  // A line further down is shown too.
  if (line > 0 && end < size && shown.split('\n').length <= line) setEnd(size);
  return (
    <>
      <div class="preview-bar">
        {message.html !== null && (
          <Button aria-pressed={isHtml} onClick={() => setQuery({ of: isHtml ? null : 'html', line: null })}>
            Decoded HTML
          </Button>
        )}
        <Button aria-pressed={isWrapped} onClick={() => setWrapped(!isWrapped)}>
          Wrap lines
        </Button>
        <span class="muted small">
          {bytes(Math.min(end, size))} of {bytes(size)}
        </span>
        {end < size && <Button onClick={() => setEnd(end + PIECE)}>Show more</Button>}
      </div>
      <Lines text={shown} isWrapped={isWrapped} line={line} />
    </>
  );
}
