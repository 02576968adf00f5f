import type { api } from '@mayfly/client';
import { CopyButton, Snippet } from '../../ui/basics.tsx';

/** Longer texts are cut in this view only; the copy has all of it. */
const MAX_TEXT = 2_000;
const TOKEN = /("(?:[^"\\]|\\.)*")(\s*:)?|(-?\d[\d.e+-]*|true|false|null)/g;

/** JSON with names, texts and other values in colours of their own. */
function coloured(json: string) {
  const parts: preact.ComponentChildren[] = [];
  let at = 0;
  for (const found of json.matchAll(TOKEN)) {
    const [all, text, colon] = found;
    parts.push(json.slice(at, found.index));
    at = found.index + all.length;
    const kind = text === undefined ? 'other' : colon === undefined ? 'text' : 'name';
    parts.push(
      <span key={found.index} class={`json-${kind}`}>
        {all}
      </span>,
    );
  }
  parts.push(json.slice(at));
  return parts;
}

/** The response of the API, and the command that requests it. */
export function Json({ message }: { message: api.Message }) {
  const shown = JSON.stringify(
    message,
    (_, value) =>
      typeof value === 'string' && value.length > MAX_TEXT
        ? `${value.slice(0, MAX_TEXT)}… (${value.length} characters)`
        : value,
    2,
  );
  return (
    <div class="padded">
      <Snippet
        what="the command"
        text={`curl ${location.origin}/v1/inboxes/${message.inboxId}/messages/${message.id} \\\n  -H "Authorization: Bearer $MAYFLY_API_KEY"`}
      />
      <div class="snippet">
        {/* biome-ignore lint/a11y/noNoninteractiveTabindex: the text scrolls sideways, also by keyboard. */}
        <pre tabIndex={0} class="json">
          {coloured(shown)}
        </pre>
        <CopyButton value={() => JSON.stringify(message, null, 2)} what="the JSON" />
      </div>
    </div>
  );
}
