import { type Static, Type } from 'typebox';
import { closed, Limit } from '../common.ts';
import { ref } from '../ref.ts';
import { MAX_SINCE } from './messages.ts';
import { RefusedMail } from './waits.ts';

/** Longest address that a query may name (RFC 5321 section 4.5.3.1.3). */
const MAX_ADDRESS = 254;

/** Query of `GET /v1/refusals`. */
export const RefusalQuery = Type.Object(
  {
    since: Type.Optional(
      Type.String({
        description: 'Only refusals after this time: an RFC 3339 time, or milliseconds since 1970.',
        maxLength: MAX_SINCE,
        examples: ['2026-03-04T05:06:07Z'],
      }),
    ),
    address: Type.Optional(
      Type.String({
        description: 'Only refusals of mail to this address; case and tags are ignored.',
        minLength: 3,
        maxLength: MAX_ADDRESS,
        examples: ['signup-test@mayfly.test'],
      }),
    ),
    limit: Type.Optional(Limit),
  },
  closed,
);
export type RefusalQuery = Static<typeof RefusalQuery>;

export const RefusalList = Type.Object(
  {
    refusals: Type.Array(ref(RefusedMail), { description: 'Newest first.' }),
    hasMore: Type.Boolean({
      description: 'True if there are older ones: raise `limit`, or name an `address`.',
    }),
  },
  { $id: 'RefusalList', description: 'Mail that SMTP refused.' },
);
export type RefusalList = Static<typeof RefusalList>;
