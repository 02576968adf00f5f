import type { api } from '@mayfly/client';
import type { RefObject } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { copy } from '../../lib/actions.ts';
import { plural } from '../../lib/format.ts';
import { useQuery } from '../../lib/query.ts';
import { query, setQuery } from '../../lib/router.ts';
import { mayfly } from '../../lib/session.ts';
import { Button, IconButton } from '../../ui/basics.tsx';
import { Icon } from '../../ui/icons.tsx';
import { Loaded } from '../../ui/states.tsx';

/** Widths in CSS pixels: an old phone, a phone, a tablet. */
const WIDTHS = ['320', '375', '768'] as const;

/** True for a mail that says how it looks in the dark; other ones are inverted by clients that do so. */
const hasScheme = (html: string | null): boolean => /color-scheme/i.test(html ?? '');

/** Time to press the second key of a combination, such as Ctrl C. */
const COMBINATION_MS = 1_500;

/**
 * Gives the focus back to the page after a click into the mail: the frame has an opaque origin and passes on no key.
 * One who goes there by Tab stays. With Ctrl or Cmd the frame gets it again for a moment, and copies what is selected.
 */
function useKeysBesideFrame(): RefObject<HTMLIFrameElement | null> {
  const frame = useRef<HTMLIFrameElement>(null);
  useEffect(() => {
    const controller = new AbortController();
    const options = { signal: controller.signal };
    let wasClicked = false;
    const leave = () => {
      if (document.activeElement !== frame.current) return;
      frame.current?.blur();
      frame.current?.closest<HTMLElement>('[role=tabpanel]')?.focus({ preventScroll: true });
    };
    addEventListener(
      'blur',
      () => {
        if (!frame.current?.matches(':hover')) return;
        wasClicked = true;
        setTimeout(leave);
      },
      options,
    );
    const onKey = ({ key }: KeyboardEvent) => {
      if (!wasClicked || (key !== 'Control' && key !== 'Meta')) return;
      frame.current?.focus({ preventScroll: true });
      setTimeout(leave, COMBINATION_MS);
    };
    addEventListener('keydown', onKey, options);
    addEventListener('pointerdown', () => (wasClicked = false), options);
    return () => controller.abort();
  }, []);
  return frame;
}

/** A link to the mail as it is shown, for somebody else or to print; it ends by itself. */
const Links = ({ url, expiresAt }: api.Preview) => {
  const what = `a link to share, which ends at ${expiresAt.slice(11, 16)} UTC`;
  return (
    <>
      <IconButton icon="link" label={`Copy ${what}`} onClick={() => void copy(url, what)} />
      <a
        class="icon-button"
        href={url}
        target="_blank"
        rel="noopener noreferrer"
        data-tip="Open alone, to print"
        aria-label="Open alone, to print"
      >
        <Icon name="external" />
      </a>
    </>
  );
};

/**
 * The mail as a browser shows it: a page with an opaque origin and a policy of its own, which runs no script and
 * requests nothing from the network. It cannot be read from here, so the pane scrolls inside.
 */
export function Preview({ message }: { message: api.Message }) {
  const [isRemote, setRemote] = useState(false);
  const width = query.value.get('width') ?? 'full';
  const isDark = query.value.get('dark') === '1';
  const isInverted = isDark && !hasScheme(message.html);
  const frame = useKeysBesideFrame();
  const { id: messageId, inboxId: id } = message;
  const preview = useQuery(`preview ${messageId} ${isRemote}`, (signal) =>
    mayfly.call('POST /v1/inboxes/{id}/messages/{messageId}/preview', {
      path: { id, messageId },
      body: { remoteContent: isRemote },
      signal,
    }),
  );
  const remote = preview.data?.remoteCount ?? 0;
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
        {isInverted && (
          <span class="small muted">Inverted, as some clients do: the mail has no dark scheme.</span>
        )}
        {remote > 0 && (
          <span class="badges small">
            <span class="muted">
              {isRemote
                ? `${plural(remote, 'remote resource')} requested from other servers. What they did not deliver is missing.`
                : `${plural(remote, 'remote resource')} not loaded.`}
            </span>
            {!isRemote && <Button onClick={() => setRemote(true)}>Load once</Button>}
          </span>
        )}
        <span class="row-line end">
          {preview.data && <Links {...preview.data} />}
          <IconButton icon="refresh" label="Show again" onClick={preview.reload} />
        </span>
      </div>
      <Loaded query={preview} rows={8}>
        {({ url }) => (
          <div
            class={`preview-stage ${width === 'full' ? '' : `narrow w${width}`} ${isDark ? 'dark' : ''} ${isInverted ? 'inverted' : ''}`}
          >
            <iframe
              ref={frame}
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
