import { type Static, Type } from 'typebox';
import { closed } from '../common.ts';
import { GivenName } from './keys.ts';

/** Body of `POST /v1/accounts`. */
export const CreateAccount = Type.Object(
  { name: GivenName('Name of the account, for the operator.', 'Web team') },
  {
    ...closed,
    $id: 'CreateAccount',
    description: 'The account to create.',
    examples: [{ name: 'Web team' }],
  },
);
export type CreateAccount = Static<typeof CreateAccount>;

/** A new account. Only this response contains its first key. */
export const CreatedAccount = Type.Object(
  {
    account: Type.Object(
      {
        id: Type.String({
          description: 'Identifier of the account.',
          examples: ['acc_01kk4m2t9vq8z3w6x5y7c1d2e3'],
        }),
        name: Type.String({ description: 'Name of the account.' }),
        plan: Type.String({ description: 'Name of the plan of the account.', examples: ['free'] }),
      },
      { description: 'The account.' },
    ),
    key: Type.String({
      description: 'The first API key. Shown only in this response: the server keeps its hash.',
    }),
  },
  { $id: 'CreatedAccount', description: 'A new account with its first API key.' },
);
export type CreatedAccount = Static<typeof CreatedAccount>;
