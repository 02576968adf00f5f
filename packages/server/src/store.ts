import { domains } from './accounts/sql.ts';
import { sessions } from './console/sql.ts';
import type { Calls } from './database/operations.ts';
import { messages } from './messages/sql.ts';

/** All operations of the store by noun. The main thread and the threads of the database share this table. */
export const operations = { domains, messages, sessions };

/** The store as callers have it. */
export type Operated = Calls<typeof operations>;
