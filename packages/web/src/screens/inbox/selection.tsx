import type { api } from '@mayfly/client';
import { useState } from 'preact/hooks';
import { deleteLater } from '../../lib/actions.ts';
import { afterLayout, keepFocus } from '../../lib/focus.ts';
import { count, plural } from '../../lib/format.ts';
import { useKeys } from '../../lib/keys.ts';
import { eachOf, mark, marksOf } from '../../lib/marks.ts';
import { isGone } from '../../lib/query.ts';
import { mayfly, mayWrite } from '../../lib/session.ts';
import { Button, IconButton } from '../../ui/basics.tsx';
import { TagField } from '../../ui/tag-field.tsx';
import { focusedRow } from '../../ui/window-list.tsx';

type Summary = api.MessageSummary;

/** Deletes mails after some seconds in which that can be undone. */
export function removeMessages(messages: readonly Summary[], onDone?: () => void): void {
  if (messages.length === 0 || !mayWrite.value) return;
  const remove = ({ inboxId: id, id: messageId }: Summary) =>
    mayfly
      .call('DELETE /v1/inboxes/{id}/messages/{messageId}', { path: { id, messageId } })
      // Somebody else deleted it, or it expired.
      .catch((error) => {
        if (!isGone(error)) throw error;
      });
  deleteLater({
    ids: messages.map(({ id }) => id),
    text: messages.length === 1 ? 'The message is deleted' : `${count(messages.length)} messages are deleted`,
    remove: async () => {
      await eachOf(messages, remove);
      onDone?.();
    },
  });
}

/** Pause between downloads: a browser drops those that begin at once. */
const DOWNLOAD_PAUSE_MS = 200;

/** Downloads the source of each mail. */
async function download(messages: readonly Summary[]): Promise<void> {
  for (const { inboxId, id } of messages) {
    const link = document.createElement('a');
    link.href = `/v1/inboxes/${inboxId}/messages/${id}/raw`;
    link.download = `${id}.eml`;
    link.click();
    await new Promise((resolve) => setTimeout(resolve, DOWNLOAD_PAUSE_MS));
  }
}

/** Rows of a list that were chosen. */
export interface Selection {
  ids: ReadonlySet<string>;
  /** True while rows are chosen by a click. */
  isOn: boolean;
  setOn(isOn: boolean): void;
  /** @param isRange chooses all from the row that was chosen before */
  choose(index: number, isRange: boolean): void;
  clear(): void;
  /** The chosen mails, in the order of the list. */
  chosen: readonly Summary[];
  chooseAll(): void;
  remove(): void;
}

/**
 * Choosing rows of a list, also by keys: `s` the row with the focus, Escape none.
 * @param isBeside true beside a message that is open: `e` is its key then
 */
export function useSelection(
  messages: readonly Summary[],
  onDeleted?: () => void,
  isBeside = false,
): Selection {
  const [ids, setIds] = useState<ReadonlySet<string>>(new Set());
  const [isOn, setOn] = useState(false);
  const [last, setLast] = useState('');
  const chosen = messages.filter(({ id }) => ids.has(id));
  const clear = () => {
    setIds(new Set());
    setOn(false);
  };
  const choose = (index: number, isRange: boolean) => {
    const message = messages[index];
    if (!message) return;
    const next = new Set(ids);
    const from = messages.findIndex(({ id }) => id === last);
    if (isRange && from >= 0)
      for (const { id } of messages.slice(Math.min(from, index), Math.max(from, index) + 1)) next.add(id);
    else if (!next.delete(message.id)) next.add(message.id);
    setLast(message.id);
    setIds(next);
  };
  const remove = () => {
    removeMessages(chosen, onDeleted);
    clear();
    keepFocus();
  };
  const focused = () => messages[focusedRow()];
  useKeys({
    s: () => choose(focusedRow(), false),
    ...((chosen.length > 0 || !isBeside) && {
      e: () => {
        const target = chosen.length > 0 ? chosen : [focused()].filter((one) => one !== undefined);
        const read = target.some((one) => marksOf(one).readAt === null);
        mark(target, () => ({ read }));
      },
    }),
    ...(chosen.length > 0 && { Escape: clear, Delete: remove }),
  });
  const chooseAll = () => setIds(new Set(messages.map(({ id }) => id)));
  return { ids, isOn: isOn || chosen.length > 0, setOn, choose, clear, chosen, chooseAll, remove };
}

/** Adds a tag to each mail that does not have it. */
const addTag = (chosen: readonly Summary[], tag: string): void =>
  mark(
    chosen.filter((one) => !marksOf(one).tags.includes(tag)),
    ({ tags }) => ({ tags: [...tags, tag] }),
  );

/** What can be done with the chosen mails; it takes the place of the search. */
export function SelectionBar({ selection, total }: { selection: Selection; total: number }) {
  const { chosen, chooseAll, clear, remove } = selection;
  const [isTagging, setTagging] = useState(false);
  const done = () => {
    setTagging(false);
    afterLayout(keepFocus);
  };
  return (
    <div class="toolbar selection" role="toolbar" aria-label="Selected messages">
      <b role="status">{plural(chosen.length, 'message')} selected</b>
      {chosen.length < total && <Button onClick={chooseAll}>All {count(total)} loaded</Button>}
      {chosen.length > 0 && (
        <>
          {mayWrite.value && (
            <>
              <Button icon="check" onClick={() => mark(chosen, () => ({ read: true }))}>
                Read
              </Button>
              <Button icon="unread" onClick={() => mark(chosen, () => ({ read: false }))}>
                Unread
              </Button>
              {isTagging ? (
                <TagField label="Tag for all selected" onAdd={(tag) => addTag(chosen, tag)} onDone={done} />
              ) : (
                <Button icon="tag" onClick={() => setTagging(true)}>
                  Tag
                </Button>
              )}
            </>
          )}
          <Button icon="download" onClick={() => void download(chosen)}>
            Download
          </Button>
          {mayWrite.value && (
            <Button icon="trash" kind="danger" onClick={remove}>
              Delete
            </Button>
          )}
        </>
      )}
      <IconButton icon="close" label="Select none" onClick={clear} />
    </div>
  );
}
