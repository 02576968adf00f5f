import type { DomainRecord } from './sql.ts';

/** A domain under which an account may have inboxes. */
export interface UsableDomain {
  domain: string;
  /** Used for inboxes whose creation names no domain. */
  isDefault: boolean;
  /** True where every account may use it, false for the account's own domain. */
  shared: boolean;
}

/** True for a domain one label below one of `domains`, where catch-all inboxes have sub-domains of their own. */
export function isSubdomainOf(domains: { has(domain: string): boolean }, domain: string): boolean {
  return domains.has(domain.slice(domain.indexOf('.') + 1));
}

/**
 * The domains that an account may use: the default, then by name. A configured domain is shared,
 * even if it belonged to one account before.
 * @param configured the default first
 * @param owned those of the account
 */
export function usableDomains(configured: readonly string[], owned: readonly DomainRecord[]): UsableDomain[] {
  const [first] = configured;
  const own = owned.map(({ domain }) => domain).filter((domain) => !configured.includes(domain));
  return [...configured, ...own]
    .map((domain) => ({ domain, isDefault: domain === first, shared: configured.includes(domain) }))
    .toSorted((a, b) => Number(b.isDefault) - Number(a.isDefault) || (a.domain < b.domain ? -1 : 1));
}
