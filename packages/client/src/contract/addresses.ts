import { type Static, Type } from 'typebox';
import { closed, Timestamp } from './common.ts';

/** Longest domain name (RFC 1035 section 2.3.4). */
const MAX_DOMAIN = 255;

export const Domain = Type.String({
  description: 'A domain that this service serves. Default: the first one.',
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

/** A free address, held for the account that asked. */
export const GeneratedAddress = Type.Object(
  {
    address: Type.String({ description: 'The address.', examples: ['brave.otter48213377@mayfly.test'] }),
    localPart: Type.String({ description: 'What stands before the @.', examples: ['brave.otter48213377'] }),
    domain: Type.String({ description: 'What stands behind the @.', examples: ['mayfly.test'] }),
    heldUntil: Timestamp('Until then nobody but your account can create an inbox there.'),
  },
  { $id: 'GeneratedAddress', description: 'A free address without an inbox.' },
);
export type GeneratedAddress = Static<typeof GeneratedAddress>;
