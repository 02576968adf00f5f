import { type Static, Type } from 'typebox';
import { closed, PLAIN_TEXT, Timestamp } from '../common.ts';
import { nullable, ref } from '../ref.ts';

/** Characters of a name for people; longer ones are a mistake. */
export const MAX_NAME = 100;

/** A name for people, also shown in terminals: no control characters and no lone surrogates. */
export const GivenName = (description: string, example: string) =>
  Type.String({
    description,
    minLength: 1,
    maxLength: MAX_NAME,
    pattern: PLAIN_TEXT,
    examples: [example],
  });

export const KeyId = Type.String({
  description: 'Identifier of an API key; not the key itself.',
  examples: ['key_01kk4m6d8rq2t5v7w9x1y3z5b7'],
});

const KeyScope = Type.Enum(['full', 'read'], {
  description:
    '`full`: all operations of the account. `read`: operations that change nothing. Default: `full`.',
});

/** Body of `POST /v1/keys`. */
export const CreateKey = Type.Object(
  {
    name: GivenName('What the key is for.', 'ci'),
    scope: Type.Optional(KeyScope),
    expiresAt: Type.Optional(
      Type.String({
        description: 'When the key expires; a time in the future. Default: never.',
        format: 'date-time',
        examples: ['2027-03-04T05:06:07.890Z'],
      }),
    ),
  },
  {
    ...closed,
    $id: 'CreateKey',
    description: 'The API key to create.',
    examples: [{ name: 'ci', scope: 'read' }, { name: 'ci' }],
  },
);
export type CreateKey = Static<typeof CreateKey>;

const shown = {
  id: KeyId,
  name: Type.String({ description: 'What the key is for.' }),
  scope: KeyScope,
  prefix: Type.String({
    description: 'The first characters of the key, to tell keys apart.',
    examples: ['mfk_q7Xz'],
  }),
  createdAt: Timestamp('When the key was created.'),
  expiresAt: nullable(Type.String({ format: 'date-time' }), {
    description: 'When the key expires; null for never.',
  }),
  lastUsedAt: nullable(Type.String({ format: 'date-time' }), {
    description: 'When the key was last used, to within a minute; null if it was never used.',
  }),
};

/** An API key as lists show it. */
export const Key = Type.Object(shown, { $id: 'Key', description: 'An API key, without its secret.' });
export type Key = Static<typeof Key>;

/** A new API key. Only this response contains the secret. */
export const CreatedKey = Type.Object(
  {
    ...shown,
    key: Type.String({ description: 'The API key. Shown only in this response: the server keeps its hash.' }),
  },
  { $id: 'CreatedKey', description: 'A new API key with its secret.' },
);
export type CreatedKey = Static<typeof CreatedKey>;

export const KeyList = Type.Object(
  { keys: Type.Array(ref(Key), { description: 'Newest first.' }) },
  { $id: 'KeyList', description: 'The API keys of the account.' },
);
export type KeyList = Static<typeof KeyList>;

export const KeyParams = Type.Object({ id: KeyId });
