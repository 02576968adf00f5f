import type { DomainRecord } from './sql.ts';

/** True for a domain one label below one of `domains`. */
export function isSubdomainOf(domains: { has(domain: string): boolean }, domain: string): boolean {
  return domains.has(domain.slice(domain.indexOf('.') + 1));
}

/** Domains that an account can use, the default first. Configured domains are shared by all accounts. */
export function usableDomains(configured: readonly string[], owned: readonly DomainRecord[]) {
  const [first] = configured;
  const own = owned.map(({ domain }) => domain).filter((domain) => !configured.includes(domain));
  return [...configured, ...own]
    .map((domain) => ({ domain, default: domain === first, shared: configured.includes(domain) }))
    .toSorted((a, b) => Number(b.default) - Number(a.default) || (a.domain < b.domain ? -1 : 1));
}
