import type { api } from '@mayfly/client';
import { bytes, person, showOverrides } from '../../lib/format.ts';
import { href, query } from '../../lib/router.ts';
import { serverNow } from '../../lib/time.ts';
import { Ago, CodeChip } from '../../ui/basics.tsx';
import { Icon } from '../../ui/icons.tsx';

interface MessageRowProps {
  message: api.MessageSummary;
  isOpen?: boolean;
  /** Address of the inbox, in lists of all inboxes. */
  address?: string | undefined;
}

/** A row that came in so shortly before is marked for a moment, milliseconds. */
const FRESH_MS = 3_000;

/** A message in a list. The code is a button of its own beside the link. */
export function MessageRow({ message, isOpen = false, address }: MessageRowProps) {
  const { id, inboxId, from, subject, preview, receivedAt, size, attachmentCount, codes } = message;
  const keep = address === undefined ? Object.fromEntries(query.value) : {};
  const [code] = codes;
  const isFresh = serverNow() - Date.parse(receivedAt) < FRESH_MS;
  return (
    <div class={`row-holder ${code ? 'coded' : ''} ${isFresh ? 'fresh' : ''}`}>
      <a
        class={`row message-row ${address === undefined ? '' : 'of-all'}`}
        href={href(`/inboxes/${inboxId}/messages/${id}`, keep)}
        aria-current={isOpen ? 'true' : undefined}
      >
        <span class="row-from cut" dir="auto">
          {person(from)}
        </span>
        <span class="row-side">
          {attachmentCount > 0 && (
            <span title={`${attachmentCount} attached`}>
              <Icon name="clip" />
              <span class="visually-hidden">{attachmentCount} attached</span>
            </span>
          )}
          <span class="row-size">{bytes(size)}</span>
          <Ago time={receivedAt} />
        </span>
        <span class="row-subject cut" dir="auto">
          {showOverrides(subject) || '(no subject)'}
        </span>
        <span class="row-preview cut" dir="auto">
          {preview}
        </span>
        {address !== undefined && <span class="row-to cut">{address}</span>}
      </a>
      {code && (
        <span class="row-code">
          <CodeChip value={code.value} />
        </span>
      )}
    </div>
  );
}
