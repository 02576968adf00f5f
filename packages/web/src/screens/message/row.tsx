import type { api } from '@mayfly/client';
import { bytes, person, showOverrides } from '../../lib/format.ts';
import { marksOf } from '../../lib/marks.ts';
import { href, query } from '../../lib/router.ts';
import { now, serverNow } from '../../lib/time.ts';
import { Ago, CodeChip } from '../../ui/basics.tsx';
import { Icon } from '../../ui/icons.tsx';

interface MessageRowProps {
  message: api.MessageSummary;
  isOpen?: boolean;
  /** The address of an inbox; '' while it is not known. */
  addressOf: (inboxId: string) => string;
  /** True in a list of all inboxes. */
  isOfAll?: boolean;
  isChosen: boolean;
  /** @param isRange where Shift is held */
  onChoose: (isRange: boolean) => void;
}

/** A row that came in so shortly before is marked for a moment, milliseconds. */
const FRESH_MS = 3_000;

/** True for a moment; only a row that is new is drawn again at the next second. */
const isFreshAt = (receivedAt: string): boolean =>
  serverNow() - Date.parse(receivedAt) < FRESH_MS && now.value - Date.parse(receivedAt) < FRESH_MS;

/** A message in a list. The code and the box that chooses it are controls of their own beside the link. */
export function MessageRow({
  message,
  isOpen = false,
  addressOf,
  isOfAll = false,
  isChosen,
  onChoose,
}: MessageRowProps) {
  const { id, inboxId, from, subject, preview, receivedAt, size, attachmentCount, codes, rcptTo } = message;
  const keep = isOfAll ? {} : Object.fromEntries(query.value);
  const [code] = codes;
  const { readAt, tags } = marksOf(message);
  const isFresh = isFreshAt(receivedAt);
  const other = rcptTo?.join(', ') ?? '';
  const state = `${code ? 'coded' : ''} ${isFresh ? 'fresh' : ''} ${readAt === null ? 'unread' : ''} ${isChosen ? 'chosen' : ''}`;
  return (
    <div class={`row-holder ${state}`}>
      <input
        type="checkbox"
        class="row-check"
        tabIndex={-1}
        checked={isChosen}
        aria-label={`Select ${subject || 'the message'}`}
        onClick={(event) => onChoose(event.shiftKey)}
      />
      <a
        class={`row message-row ${isOfAll ? 'of-all' : ''}`}
        href={href(`/inboxes/${inboxId}/messages/${id}`, keep)}
        aria-current={isOpen ? 'true' : undefined}
        onClick={(event) => {
          if (!event.shiftKey) return;
          event.preventDefault();
          onChoose(true);
        }}
      >
        <span class="row-from cut" dir="auto">
          {readAt === null && <span class="visually-hidden">Unread: </span>}
          {person(from)}
          {other !== '' && !isOfAll && <span class="row-other"> to {other}</span>}
        </span>
        <span class="row-side">
          {tags.map((tag) => (
            <span class="chip" key={tag}>
              {tag}
            </span>
          ))}
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
        {isOfAll && (
          <span class="row-to cut">
            {other !== '' && <>{other} in </>}
            {addressOf(inboxId)}
          </span>
        )}
      </a>
      {code && (
        <span class="row-code">
          <CodeChip value={code.value} />
        </span>
      )}
    </div>
  );
}
