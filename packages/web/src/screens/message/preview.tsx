import type { api } from '@mayfly/client';
import { useState } from 'preact/hooks';
import { plural } from '../../lib/format.ts';
import { useQuery } from '../../lib/query.ts';
import { query, setQuery } from '../../lib/router.ts';
import { mayfly } from '../../lib/session.ts';
import { Button, IconButton } from '../../ui/basics.tsx';
import { Loaded } from '../../ui/states.tsx';

/** Widths in CSS pixels: an old phone, a phone, a tablet. */
const WIDTHS = ['320', '375', '768'] as const;

/**
 * The mail as a browser shows it: a page with an opaque origin and a policy of its own, which runs no script and
 * requests nothing from the network. It cannot be read from here, so the pane scrolls inside.
 */
export function Preview({ message }: { message: api.Message }) {
  const [isRemote, setRemote] = useState(false);
  const width = query.value.get('width') ?? 'full';
  const isDark = query.value.get('dark') === '1';
  const { id: messageId, inboxId: id } = message;
  const preview = useQuery(`preview ${messageId} ${isRemote}`, (signal) =>
    mayfly.call('POST /v1/inboxes/{id}/messages/{messageId}/preview', {
      path: { id, messageId },
      body: { remoteContent: isRemote },
      signal,
    }),
  );
  return (
    <>
      <div class="preview-bar">
        {/* biome-ignore lint/a11y/useSemanticElements: a fieldset would need a visible legend. */}
        <div class="group" role="group" aria-label="Width">
          {[...WIDTHS, 'full'].map((one) => (
            <Button
              key={one}
              aria-pressed={width === one}
              onClick={() => setQuery({ width: one === 'full' ? null : one })}
            >
              {one === 'full' ? 'Full' : one}
            </Button>
          ))}
        </div>
        <Button icon="sun" aria-pressed={isDark} onClick={() => setQuery({ dark: isDark ? null : '1' })}>
          Dark client
        </Button>
        {(preview.data?.remoteCount ?? 0) > 0 && (
          <span class="badges small">
            <span class="muted">
              {isRemote
                ? 'Remote content was loaded: the sender may see that the mail was opened.'
                : `${plural(preview.data?.remoteCount ?? 0, 'remote resource')} not loaded.`}
            </span>
            {!isRemote && <Button onClick={() => setRemote(true)}>Load once</Button>}
          </span>
        )}
        <IconButton icon="refresh" label="Show again" onClick={preview.reload} />
      </div>
      <Loaded query={preview} rows={8}>
        {({ url }) => (
          <div class={`preview-stage ${width === 'full' ? '' : `narrow w${width}`} ${isDark ? 'dark' : ''}`}>
            <iframe
              key={url}
              title="The mail as a browser shows it"
              src={url}
              sandbox="allow-popups allow-popups-to-escape-sandbox"
              referrerpolicy="no-referrer"
            />
          </div>
        )}
      </Loaded>
    </>
  );
}
