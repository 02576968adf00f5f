import type { api } from '@mayfly/client';
import { bytes, person } from '../../lib/format.ts';
import { href, query } from '../../lib/router.ts';
import { Ago, CodeChip } from '../../ui/basics.tsx';
import { Icon } from '../../ui/icons.tsx';

interface MessageRowProps {
  message: api.MessageSummary;
  isOpen?: boolean;
  /** Address of the inbox, in lists of all inboxes. */
  address?: string | undefined;
}

/** A message in a list. The code is a button of its own beside the link. */
export function MessageRow({ message, isOpen = false, address }: MessageRowProps) {
  const { id, inboxId, from, subject, preview, receivedAt, size, attachmentCount, codes } = message;
  const keep = address === undefined ? Object.fromEntries(query.value) : {};
  const [code] = codes;
  return (
    <div class={`row-holder ${code ? 'coded' : ''}`}>
      <a
        class="row"
        href={href(`/inboxes/${inboxId}/messages/${id}`, keep)}
        aria-current={isOpen ? 'true' : undefined}
      >
        <span class="row-line">
          <span class="row-from cut">{person(from)}</span>
          {attachmentCount > 0 && (
            <span class="row-side" title={`${attachmentCount} attached`}>
              <Icon name="clip" />
              <span class="visually-hidden">{attachmentCount} attached</span>
            </span>
          )}
          <span class="row-side">{bytes(size)}</span>
          <Ago time={receivedAt} />
        </span>
        <span class="row-line">
          <span class="cut">{subject || '(no subject)'}</span>
        </span>
        <span class="row-line small muted row-preview">
          <span class="cut">{address ?? preview}</span>
        </span>
      </a>
      {code && (
        <span class="row-code">
          <CodeChip value={code.value} />
        </span>
      )}
    </div>
  );
}
