import { useEffect, useRef } from 'preact/hooks';
import type { Feed } from '../../lib/feed.ts';
import { setQuery } from '../../lib/router.ts';
import { IconButton, SearchField } from '../../ui/basics.tsx';

/** Filters of the list, as the API names them. */
const FILTERS = ['from', 'to', 'subject', 'text'] as const;

export type Filters = Partial<Record<(typeof FILTERS)[number], string>> & { hasAttachments?: boolean };

export function filtersIn(search: URLSearchParams): Filters {
  const filters: Filters = {};
  for (const name of FILTERS) {
    const value = search.get(name);
    if (value) filters[name] = value;
  }
  if (search.get('attachments')) filters.hasAttachments = true;
  return filters;
}

/** `subject:hello from:ada words` as filters; bare words search the text. */
export function parseSearch(text: string): Record<string, string | null> {
  const found: Record<string, string | null> = {
    from: null,
    to: null,
    subject: null,
    text: null,
    attachments: null,
  };
  const words: string[] = [];
  for (const [, name, quoted, plain] of text.matchAll(
    /(?:(from|to|subject|text|has):)?(?:"([^"]*)"|(\S+))/gi,
  )) {
    const value = quoted ?? plain ?? '';
    const field = name?.toLowerCase();
    if (field === 'has') found.attachments = '1';
    else if (field) found[field] = value;
    else words.push(value);
  }
  if (words.length > 0) found.text = words.join(' ');
  return found;
}

const quote = (value: string) => (/\s/.test(value) ? `"${value}"` : value);

function searchText(filters: Filters): string {
  const parts = FILTERS.flatMap((name) =>
    filters[name] ? [name === 'text' ? filters[name] : `${name}:${quote(filters[name])}`] : [],
  );
  return [...parts, ...(filters.hasAttachments ? ['has:attachment'] : [])].join(' ');
}

/** The field that filters the list, and the button that loads it again. */
export function Search({ filters, feed }: { filters: Filters; feed: Feed }) {
  const input = useRef<HTMLInputElement>(null);
  const shown = searchText(filters);
  // The field follows the address of the page, for instance after “Show all messages”.
  useEffect(() => {
    if (input.current) input.current.value = shown;
  }, [shown]);
  return (
    <form
      class="toolbar"
      aria-label="Search"
      onSubmit={(event) => {
        event.preventDefault();
        setQuery(parseSearch(input.current?.value ?? ''));
      }}
    >
      <SearchField
        ref={input}
        aria-label="Search messages"
        help={
          <>
            Words are searched in the text. Also: <code>from:shop</code> <code>to:ada+</code>{' '}
            <code>subject:"your code"</code> <code>has:attachment</code>. Enter searches.
          </>
        }
        placeholder="Search this inbox"
        defaultValue={shown}
        onSearch={(event: Event) => {
          if ((event.currentTarget as HTMLInputElement).value === '') setQuery(parseSearch(''));
        }}
      />
      <IconButton icon="refresh" label="Load again" onClick={feed.reload} />
    </form>
  );
}
