import { useEffect, useRef } from 'preact/hooks';
import type { Feed } from '../lib/feed.ts';
import { setQuery } from '../lib/router.ts';
import { IconButton, SearchField } from './basics.tsx';

/** The field that searches a list in the language of the API, and the button that loads the list again. */
export function Search({
  q,
  feed,
  label,
  placeholder,
}: {
  q: string;
  feed: Feed;
  label: string;
  placeholder: string;
}) {
  const input = useRef<HTMLInputElement>(null);
  // The field follows the address of the page, for instance after “Show all messages”.
  useEffect(() => {
    if (input.current) input.current.value = q;
  }, [q]);
  return (
    <form
      class="toolbar"
      aria-label="Search"
      onSubmit={(event) => {
        event.preventDefault();
        setQuery({ q: input.current?.value.trim() || null });
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
            <code>larger:1m</code> <code>after:2026-03-04</code>. Enter searches.
          </>
        }
        placeholder={placeholder}
        defaultValue={q}
        onSearch={(event: Event) => {
          if ((event.currentTarget as HTMLInputElement).value === '') setQuery({ q: null });
        }}
      />
      <IconButton icon="refresh" label="Load again" onClick={feed.reload} />
    </form>
  );
}
