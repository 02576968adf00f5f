import type { RequestOptions, Transport } from './transport.ts';

/** The longest page of lists. */
const PAGE = 200;

/** All items of a list, newest first. @param name of the array in a page */
export async function* pages<Item extends { id: string }>(
  transport: Transport,
  operation: string,
  name: string,
  options: RequestOptions,
  query: object,
): AsyncGenerator<Item> {
  let before: string | undefined;
  for (let hasMore = true; hasMore; ) {
    const input = { ...options, query: { limit: PAGE, ...query, before } };
    const page = (await transport.send(operation, input)) as Record<string, Item[]> & {
      hasMore: boolean;
      searchedTo?: string;
    };
    const items = page[name] ?? [];
    yield* items;
    ({ hasMore } = page);
    before = page.searchedTo ?? items.at(-1)?.id;
  }
}
