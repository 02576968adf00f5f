import { type Static, Type } from 'typebox';
import { closed, Timestamp } from '../common.ts';

/** Longest domain name (RFC 1035 section 2.3.4). */
const MAX_DOMAIN = 255;

export const Domain = Type.String({
  description: 'A served domain; GET /v1/domains lists them. Default: the first one.',
  maxLength: MAX_DOMAIN,
  examples: ['mayfly.test'],
});

/** Body of `POST /v1/addresses/generate`; all of it is optional. */
export const GenerateAddress = Type.Object(
  { domain: Type.Optional(Domain) },
  {
    ...closed,
    $id: 'GenerateAddress',
    description: 'Which address to generate. All fields are optional.',
    examples: [{}],
  },
);
export type GenerateAddress = Static<typeof GenerateAddress>;

/** A free address, reserved for the account that requested it. */
export const GeneratedAddress = Type.Object(
  {
    address: Type.String({ description: 'The address.', examples: ['brave.otter48213377@mayfly.test'] }),
    localPart: Type.String({ description: 'The part before the @.', examples: ['brave.otter48213377'] }),
    domain: Type.String({ description: 'The part after the @.', examples: ['mayfly.test'] }),
    heldUntil: Timestamp('Until then only your account can create an inbox with this address.'),
  },
  { $id: 'GeneratedAddress', description: 'A free address without an inbox.' },
);
export type GeneratedAddress = Static<typeof GeneratedAddress>;
