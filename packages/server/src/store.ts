import { accounts, domains, keys } from './accounts/sql.ts';
import { sessions } from './console/sql.ts';
import type { Calls } from './database/operations.ts';
import { faults } from './faults/sql.ts';
import { messages } from './messages/sql.ts';
import { refusals } from './refusals/sql.ts';
import { deleteAccount } from './retention/delete-account.ts';
import { limits, nodes, usage } from './usage/sql.ts';

/** All operations of the store by noun. The main thread and the threads of the database share this table. */
export const operations = {
  ...{ accounts: { ...accounts, delete: deleteAccount }, keys, domains, sessions },
  ...{ usage, limits, nodes },
  ...{ messages, faults, refusals },
};

/** The store as callers have it. */
export type Operated = Calls<typeof operations>;
