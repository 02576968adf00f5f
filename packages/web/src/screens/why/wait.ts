import type { api } from '@mayfly/client';

/*
 * A wait as query parameters, such as `subject=confirm&code=true&link.kind=verify`. Clients print such a URL
 * when a wait fails.
 */

/** Conditions with a text field in the form. */
export const TEXTS = ['from', 'to', 'subject', 'text'] as const;
const NAMES = [...TEXTS, 'rcptTo', 'hasAttachments', 'code'] as const;
/** Ends conditions that were shortened in reports. */
const CUT = '…';

/** The conditions of a wait. */
export interface Wait {
  match: api.MessageMatch;
  since: string | null;
  count: number;
}

const FLAGS: Record<string, boolean> = { '1': true, true: true, false: false };

/** Conditions of one link, as parameters such as `link.kind`. */
const LINK_PARTS = ['href', 'text', 'kind'] as const;

/** Parses a link condition: whether there is a link, JSON of its conditions, or a part of its target. */
function linkOf(text: string): api.MessageMatch['link'] {
  if (!text.startsWith('{')) return FLAGS[text] ?? { href: text };
  try {
    return JSON.parse(text) as api.LinkMatch;
  } catch {
    return undefined;
  }
}

/** Parses the wait in a URL's query. */
export function waitIn(search: URLSearchParams): Wait {
  const match: api.MessageMatch = {};
  for (const name of [...TEXTS, 'rcptTo'] as const) {
    const value = search.get(name);
    if (value) match[name] = value;
  }
  for (const name of ['code', 'hasAttachments'] as const) {
    const flag = FLAGS[search.get(name) ?? ''];
    if (flag !== undefined) match[name] = flag;
  }
  const parts = LINK_PARTS.filter((part) => search.get(`link.${part}`));
  const link = linkOf(search.get('link') ?? '{');
  if (parts.length > 0)
    match.link = Object.fromEntries(parts.map((part) => [part, search.get(`link.${part}`)]));
  else if (link !== undefined) match.link = link;
  return { match, since: search.get('since'), count: Number(search.get('count') ?? 1) };
}

/** A condition as text for a parameter; null for none. */
function textOf(value: unknown): string | null {
  if (value === undefined || value === null) return null;
  const text = String(value);
  return text.endsWith(CUT) ? text.slice(0, -1) : text;
}

/**
 * Query parameters of a wait; null for conditions that it lacks. @param match its conditions, which may also be texts
 */
export function paramsOf(
  match: Readonly<Record<string, unknown>>,
  { since, count }: { since?: string | undefined; count?: number | undefined } = {},
): Record<string, string | null> {
  const link = typeof match.link === 'string' ? linkOf(match.link) : match.link;
  const parts = (typeof link === 'object' ? link : null) as Record<string, unknown> | null;
  return {
    ...Object.fromEntries(NAMES.map((name) => [name, textOf(match[name])])),
    link: parts ? null : textOf(link),
    ...Object.fromEntries(LINK_PARTS.map((part) => [`link.${part}`, textOf(parts?.[part])])),
    since: since ?? null,
    count: count === undefined || count === 1 ? null : String(count),
  };
}

/** True without any conditions, when any message is enough. */
export const isEmpty = ({ match, since, count }: Wait): boolean =>
  Object.keys(match).length === 0 && since === null && count === 1;

/** Query parameters of a wait that was copied from a test as JSON; null for invalid text. */
export function pasted(text: string): Record<string, string | null> | null {
  try {
    const wait = JSON.parse(text);
    if (typeof wait !== 'object' || wait === null || Array.isArray(wait)) return null;
    const { match, since, count, ...others } = wait;
    return paramsOf(match ?? others, { since, count });
  } catch {
    return null;
  }
}
