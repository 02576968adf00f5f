import type { api } from '@mayfly/client';
import { CopyButton } from '../../ui/basics.tsx';

const LINK = /(https?:\/\/[^\s<>"')\]]+)/;

/** The text as text nodes; links are made by splitting it, never from markup. */
export function TextView({ message }: { message: api.Message }) {
  const { text, parseError } = message;
  if (text === null) {
    return (
      <div class="padded">
        <p class="muted">The mail has no text part.</p>
        {parseError && <p class="field-error">{parseError}</p>}
      </div>
    );
  }
  return (
    <div class="padded">
      <p class="prose">
        {text.split(LINK).map((part, index) =>
          index % 2 === 1 ? (
            <a key={index} href={part} target="_blank" rel="noopener noreferrer">
              {part}
            </a>
          ) : (
            part
          ),
        )}
      </p>
      <p>
        <CopyButton value={text} what="the text">
          Copy the text
        </CopyButton>
      </p>
    </div>
  );
}
