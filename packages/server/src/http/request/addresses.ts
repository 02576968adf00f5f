import type { CreateInbox } from '@mayfly/client/contract';
import { usableDomains } from '../../accounts/domains.ts';
import { AppError } from '../../errors.ts';
import { inboxAddress, isChosenLocalPart, isReservedLocalPart, parseAddress } from '../../mail/address.ts';
import { newLocalPart } from '../../mail/local-part.ts';
import type { DomainStore } from '../../store/contract/index.ts';
import { ADDRESS_ATTEMPTS } from '../limits.ts';
import { invalidField } from './invalid-fields.ts';

/** An address in its parts, lower case, without a tag. */
export interface Place {
  address: string;
  localPart: string;
  domain: string;
}

/** Where an inbox shall be; without a local part, at any free address of the domain. */
export interface Wanted {
  domain: string;
  localPart: string | null;
}

const placeAt = (localPart: string, domain: string): Place => ({
  address: `${localPart}@${domain}`,
  localPart,
  domain,
});

/** Where an account's domains are looked for. */
export interface DomainsOf {
  accountId: string;
  /** Those that all accounts share, the default first. */
  configured: readonly string[];
  /** Asked for what is not configured; only for the account's own, so that others' are as unknown as any. */
  owned: Pick<DomainStore, 'list'>;
}

/**
 * The served domain that was asked for, or the default.
 * @throws AppError `invalid_request` that lists those that the account may use
 */
export async function servedDomain(
  wanted: string | undefined,
  { accountId, configured, owned }: DomainsOf,
  { path, demand } = { path: '/domain', demand: 'must be one of' },
): Promise<string> {
  const [fallback = ''] = configured;
  const domain = wanted?.toLowerCase() ?? fallback;
  if (configured.includes(domain)) return domain;
  const usable = usableDomains(configured, await owned.list(accountId)).map((one) => one.domain);
  if (!usable.includes(domain)) throw invalidField(path, `${demand}: ${usable.join(', ')}`);
  return domain;
}

function chosenLocalPart(localPart: string, path: string): string {
  if (!isChosenLocalPart(localPart)) {
    throw invalidField(path, 'must have 1 to 64 of a-z 0-9 . _ - before the @, dots single and inside');
  }
  if (isReservedLocalPart(localPart)) throw invalidField(path, 'is reserved for whoever runs the domain');
  return localPart;
}

/** Reads where a new inbox shall be. @throws AppError `invalid_request` */
export async function wantedAddress(body: CreateInbox, domains: DomainsOf): Promise<Wanted> {
  const { address, localPart, domain } = body;
  if (address === undefined) {
    return {
      domain: await servedDomain(domain, domains),
      localPart: localPart === undefined ? null : chosenLocalPart(localPart, '/localPart'),
    };
  }
  for (const [path, other] of [
    ['/localPart', localPart],
    ['/domain', domain],
  ] as const) {
    if (other !== undefined) throw invalidField(path, 'cannot be given together with address');
  }
  const at = address.lastIndexOf('@');
  if (at < 0) throw invalidField('/address', 'must be an address');
  return {
    domain: await servedDomain(address.slice(at + 1), domains, {
      path: '/address',
      demand: 'must be at one of the domains',
    }),
    localPart: chosenLocalPart(address.slice(0, at), '/address'),
  };
}

/**
 * Does something at the wanted address, or at random ones until one is free.
 * @param attempt throws AppError `address_taken` when somebody has the address
 */
export async function onFreeAddress<T>(wanted: Wanted, attempt: (place: Place) => Promise<T>): Promise<T> {
  if (wanted.localPart !== null) return attempt(placeAt(wanted.localPart, wanted.domain));
  for (let left = ADDRESS_ATTEMPTS; ; left--) {
    try {
      return await attempt(placeAt(newLocalPart(), wanted.domain));
    } catch (error) {
      const taken = error instanceof AppError && error.code === 'address_taken';
      if (!taken || left <= 1) throw error;
    }
  }
}

/**
 * The inbox address that mail to `text` reaches: lower case, without a tag. A `+` that was not encoded
 * in a URL arrives as a space, which an unquoted local part cannot contain, so it is read as `+`.
 * @throws AppError `invalid_request` when `text` is not exactly one address
 */
export function addressOf(text: string): string {
  const options = { smtputf8: true };
  const parsed = parseAddress(text, options) ?? parseAddress(text.replaceAll(' ', '+'), options);
  if (parsed && !text.startsWith('<')) return inboxAddress(parsed);
  throw invalidField(
    'address',
    'must be one address such as signup-test@mayfly.test, without a display name',
  );
}
