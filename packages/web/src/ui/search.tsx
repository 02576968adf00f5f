import type { ComponentChildren, RefObject } from 'preact';
import { useEffect, useLayoutEffect, useRef } from 'preact/hooks';
import type { Feed } from '../lib/feed.ts';
import { afterLayout } from '../lib/focus.ts';
import { setQuery } from '../lib/router.ts';
import { IconButton, SearchField } from './basics.tsx';
import { focusRow } from './window-list.tsx';

/** A search begins when one has stopped to type for so long. */
const PAUSE_MS = 250;
/** An operator without its value: what one types next decides. */
const UNFINISHED = /(^|\s)-?[a-z-]+:"?$/i;

/**
 * Keeps a field at the search of the page's address, for instance after “Show all messages”. A search that was typed
 * changes nothing: further letters may have come since.
 * @returns what is called with a search before the field gives it to the address
 */
export function useFollowing(
  input: RefObject<HTMLInputElement | null>,
  words: string,
): (typed: string) => void {
  const typed = useRef<string[]>([]);
  // Before the next key: an effect comes after the next frame.
  useLayoutEffect(() => {
    const at = typed.current.indexOf(words);
    typed.current = at < 0 ? [] : typed.current.slice(at + 1);
    if (at < 0 && input.current && input.current.value.trim() !== words) input.current.value = words;
  }, [words]);
  return (own) => typed.current.push(own);
}

interface SearchProps {
  q: string;
  feed: Feed;
  label: string;
  placeholder: string;
  /** Beside the field, such as how many were found. */
  children?: ComponentChildren;
}

/** The field that searches a list in the language of the API as one types; Enter goes to the first row. */
export function Search({ q, feed, label, placeholder, children }: SearchProps) {
  const input = useRef<HTMLInputElement>(null);
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  const isEntered = useRef(false);
  const sent = useFollowing(input, q);
  useEffect(() => () => clearTimeout(timer.current), []);
  const isLoading = feed.isLoading.value;
  const focusFirst = () => {
    if (feed.isLoading.peek() || !isEntered.current) return;
    if (feed.messages.peek().length === 0) isEntered.current = false;
    const box = input.current?.closest('.screen') ?? null;
    return afterLayout(() => {
      if (isEntered.current) focusRow(box, 0);
      isEntered.current = false;
    });
  };
  useEffect(focusFirst, [isLoading, feed]);
  const search = () => {
    clearTimeout(timer.current);
    const words = input.current?.value.trim() ?? '';
    if (words !== q) {
      sent(words);
      setQuery({ q: words || null });
    }
    return words !== q;
  };
  return (
    <form
      class="toolbar"
      aria-label="Search"
      onSubmit={(event) => {
        event.preventDefault();
        isEntered.current = true;
        if (!search()) focusFirst();
      }}
    >
      <SearchField
        ref={input}
        aria-label={label}
        help={
          <>
            Words in subject, addresses and text. Also: <code>"a phrase"</code> <code>-word</code>{' '}
            <code>from:shop</code> <code>to:ada+</code> <code>subject:"your code"</code>{' '}
            <code>code:482913</code> <code>has:attachment</code> <code>is:unread</code> <code>tag:ci</code>{' '}
            <code>larger:1m</code> <code>after:2026-03-04</code>. Enter goes to the first result.
          </>
        }
        placeholder={placeholder}
        defaultValue={q}
        onInput={({ currentTarget: { value } }) => {
          clearTimeout(timer.current);
          // One goes on typing.
          isEntered.current = false;
          if (!UNFINISHED.test(value)) timer.current = setTimeout(search, PAUSE_MS);
        }}
      />
      {children}
      <IconButton icon="refresh" label="Load again" onClick={feed.reload} />
    </form>
  );
}
