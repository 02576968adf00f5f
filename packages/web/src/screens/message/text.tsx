import type { api } from '@mayfly/client';
import { useState } from 'preact/hooks';
import { bytes } from '../../lib/format.ts';
import { Button, CopyButton } from '../../ui/basics.tsx';

const LINK = /(https?:\/\/[^\s<>"')\]]+)/;
/** Characters that are shown at once: a browser lays out more of them only slowly. */
const PIECE = 128 * 1_024;

/** The text as text nodes; links are made by splitting it, never from markup. */
export function TextView({ message }: { message: api.Message }) {
  const { text, parseError } = message;
  const [end, setEnd] = useState(PIECE);
  if (text === null) {
    return (
      <div class="padded">
        <p class="muted">The mail has no text part.</p>
        {parseError && <p class="field-error">{parseError}</p>}
      </div>
    );
  }
  return (
    <>
      <div class="preview-bar">
        <CopyButton value={text} what="the text" label="Copy the text" />
        {end < text.length && (
          <>
            <span class="muted small">
              {bytes(end)} of {bytes(text.length)}
            </span>
            <Button onClick={() => setEnd(end + PIECE)}>Show more</Button>
          </>
        )}
      </div>
      <div class="padded">
        <p class="prose" dir="auto">
          {text
            .slice(0, end)
            .split(LINK)
            .map((part, index) =>
              index % 2 === 1 ? (
                <a key={index} href={part} target="_blank" rel="noopener noreferrer">
                  {part}
                </a>
              ) : (
                part
              ),
            )}
        </p>
      </div>
    </>
  );
}
