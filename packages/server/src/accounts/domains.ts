import type { DomainRecord } from './sql.ts';

export interface UsableDomain {
  domain: string;
  isDefault: boolean;
  shared: boolean;
}

/** True for a domain one label below one of `domains`. */
export function isSubdomainOf(domains: { has(domain: string): boolean }, domain: string): boolean {
  return domains.has(domain.slice(domain.indexOf('.') + 1));
}

/** Domains that an account can use, the default first. Configured domains are shared by all accounts. */
export function usableDomains(configured: readonly string[], owned: readonly DomainRecord[]): UsableDomain[] {
  const [first] = configured;
  const own = owned.map(({ domain }) => domain).filter((domain) => !configured.includes(domain));
  return [...configured, ...own]
    .map((domain) => ({ domain, isDefault: domain === first, shared: configured.includes(domain) }))
    .toSorted((a, b) => Number(b.isDefault) - Number(a.isDefault) || (a.domain < b.domain ? -1 : 1));
}
