import type { api } from '@mayfly/client';

/** As many as that program checks. */
const MAX_LINKS = 100;
const NOT_CHECKED = 'Not checked: Mayfly never opens the links of a mail';

/**
 * Mailpit's report on the links and pictures of a message. None is fetched, and a link that was not fetched counts
 * as an error, as there on a machine without a network: a test must not pass on a check that was not made.
 */
export function linksOf({ links, images }: api.Message) {
  const urls = [...links.map(({ href }) => href), ...images.map(({ src }) => src)];
  const found = [...new Set(urls.filter((url) => /^https?:/i.test(url)))].slice(0, MAX_LINKS);
  return {
    Errors: found.length,
    Links: found.map((URL) => ({ URL, StatusCode: 0, Status: NOT_CHECKED })),
  };
}
