import type { CreateInbox, GeneratedAddress } from '@mayfly/client/contract';
import { usableDomains } from '../accounts/domains.ts';
import { AppError } from '../errors.ts';
import { ADDRESS_ATTEMPTS } from '../http/limits.ts';
import { invalidField } from '../http/request/invalid-fields.ts';
import { inboxAddress, isChosenLocalPart, isReservedLocalPart, parseAddress } from '../mail/address.ts';
import { newLocalPart, newPhoneLocalPart } from '../mail/local-part.ts';
import type { Store } from '../store.ts';
import { didYouMean, quoted } from '../text/nearest.ts';
import type { InboxKind } from './records.ts';

const MAX_LISTED_DOMAINS = 10;

/** An address in lower case and without a tag (`+…`), and its two parts. */
export type AddressParts = Omit<GeneratedAddress, 'heldUntil'>;

export interface Wanted {
  kind: InboxKind;
  /** Returns a new address at each call if `isRandom`, otherwise always the same one. */
  parts(): AddressParts;
  isRandom: boolean;
}

const CATCH_ALL_LOCAL_PART = 'inbox';

export const partsOf = (localPart: string, domain: string): AddressParts => ({
  address: `${localPart}@${domain}`,
  localPart,
  domain,
});

export interface DomainsOf {
  accountId: string;
  configured: readonly string[];
  owned: Pick<Store['domains'], 'list'>;
}

/** The requested domain or the default. @throws AppError `invalid_request` that lists the usable domains */
export async function servedDomain(
  wanted: string | undefined,
  { accountId, configured, owned }: DomainsOf,
  path = '/domain',
): Promise<string> {
  const [fallback = ''] = configured;
  const domain = wanted?.toLowerCase() ?? fallback;
  if (configured.includes(domain)) return domain;
  const usable = usableDomains(configured, await owned.list(accountId)).map((one) => one.domain);
  if (!usable.includes(domain)) {
    const field = path.slice(1);
    const part = field === 'domain' ? `"${field}"` : `The domain of "${field}"`;
    const listed = usable.slice(0, MAX_LISTED_DOMAINS).map((one) => quoted(one));
    const rest = usable.length > listed.length ? '; GET /v1/domains lists all' : '';
    throw invalidField(
      path,
      `${part} must be one of the served domains, not ${quoted(wanted ?? domain)}. Served domains are ${listed.join(', ')}${rest}.${didYouMean(domain, usable)}`,
    );
  }
  return domain;
}

function chosenLocalPart(localPart: string, path: string): string {
  if (!isChosenLocalPart(localPart)) {
    throw invalidField(
      path,
      `The local part ${quoted(localPart)} must have 1 to 64 of the characters a-z 0-9 . _ - and no leading, trailing or double dot.`,
    );
  }
  if (isReservedLocalPart(localPart)) {
    throw invalidField(
      path,
      `The local part ${quoted(localPart)} is reserved for the operator of the domain (RFC 2142). Choose another one.`,
    );
  }
  return localPart;
}

const chosen = (localPart: string, domain: string): Wanted => ({
  ...{ kind: 'address', parts: () => partsOf(localPart, domain), isRandom: false },
});

export const anyAddress = (domain: string, localPart = newLocalPart): Wanted => ({
  ...{ kind: 'address', parts: () => partsOf(localPart(), domain), isRandom: true },
});

/** A catch-all inbox takes a whole domain of the account, or a random subdomain of a shared domain. */
async function wantedCatchAll(body: CreateInbox, domains: DomainsOf): Promise<Wanted> {
  const why = '"catchAll": a catch-all inbox takes every local part of its domain. Send "domain" instead.';
  assertLeftOut(body, ['localPart', 'address'], why);
  const domain = await servedDomain(body.domain, domains);
  const isShared = domains.configured.includes(domain);
  const subdomain = () => `${newLocalPart().replaceAll('.', '-')}.${domain}`;
  return {
    kind: 'catch-all',
    parts: () => partsOf(CATCH_ALL_LOCAL_PART, isShared ? subdomain() : domain),
    isRandom: isShared,
  };
}

function assertLeftOut(body: CreateInbox, names: readonly (keyof CreateInbox)[], why: string): void {
  const given = names.find((name) => body[name] !== undefined && body[name] !== false);
  if (given) throw invalidField(`/${given}`, `"${given}" cannot be given together with ${why}`);
}

/** @throws AppError `invalid_request` for options that contradict each other or are not allowed */
export async function wantedAddress(body: CreateInbox, domains: DomainsOf): Promise<Wanted> {
  const { address, localPart, domain } = body;
  if (body.sms) {
    const [shared = ''] = domains.configured;
    const why = `"sms": the inbox has a random telephone number at ${shared}. Leave one of the two out.`;
    assertLeftOut(body, ['localPart', 'address', 'domain', 'catchAll'], why);
    return anyAddress(shared, newPhoneLocalPart);
  }
  if (body.catchAll) return wantedCatchAll(body, domains);
  if (address === undefined) {
    const served = await servedDomain(domain, domains);
    return localPart === undefined
      ? anyAddress(served)
      : chosen(chosenLocalPart(localPart, '/localPart'), served);
  }
  assertLeftOut(body, ['localPart', 'domain'], '"address", which contains it. Send one of the two.');
  const at = address.lastIndexOf('@');
  if (at < 0) {
    throw invalidField(
      '/address',
      `"address" must be an email address such as "signup-test@${domains.configured[0]}", not ${quoted(address)}. To choose only the part before the @, send "localPart".`,
    );
  }
  const served = await servedDomain(address.slice(at + 1), domains, '/address');
  return chosen(chosenLocalPart(address.slice(0, at), '/address'), served);
}

/** If `attempt` throws `address_taken` for a random address, calls it again with another one. */
export async function onFreeAddress<T>(
  wanted: Pick<Wanted, 'parts' | 'isRandom'>,
  attempt: (parts: AddressParts) => Promise<T>,
): Promise<T> {
  for (let left = wanted.isRandom ? ADDRESS_ATTEMPTS : 1; ; left--) {
    try {
      return await attempt(wanted.parts());
    } catch (error) {
      const taken = error instanceof AppError && error.code === 'address_taken';
      if (!taken || left <= 1) throw error;
    }
  }
}

/** Parses an address: lower case, no tag (`+…`). @throws AppError `invalid_request` for any other text */
export function addressOf(text: string): string {
  const options = { smtputf8: true };
  // A `+` that a URL does not encode arrives as a space.
  const parsed = parseAddress(text, options) ?? parseAddress(text.replaceAll(' ', '+'), options);
  if (parsed && !text.startsWith('<')) return inboxAddress(parsed);
  throw invalidField(
    'address',
    `"address" must be one email address such as "signup-test@mayfly.test", without a display name, not ${quoted(text)}.`,
  );
}
