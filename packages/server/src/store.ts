import { accounts, domains, keys } from './accounts/sql.ts';
import { sessions } from './console/sql.ts';
import type { Calls } from './database/operations.ts';
import { faults } from './faults/sql.ts';
import { addresses } from './inboxes/sql/addresses.ts';
import { changing } from './inboxes/sql/changing.ts';
import { finding } from './inboxes/sql/finding.ts';
import { messages } from './messages/sql.ts';
import { refusals } from './refusals/sql.ts';
import { reports } from './reports/sql.ts';
import { deleteAccount } from './retention/delete-account.ts';
import { inboxDeletion } from './retention/delete-inboxes.ts';
import { upkeep } from './retention/sweep.ts';
import { limits, nodes, usage } from './usage/sql.ts';
import { waits } from './waits/sql.ts';
import { log } from './webhooks/sql/log.ts';
import { queue } from './webhooks/sql/queue.ts';
import { record } from './webhooks/sql/record.ts';
import { webhooks } from './webhooks/sql/webhooks.ts';

/** All operations of the store by noun. The main thread and the threads of the database share this table. */
export const operations = {
  accounts: { ...accounts, delete: deleteAccount },
  keys,
  domains,
  sessions,
  usage,
  limits,
  nodes,
  addresses,
  inboxes: { ...finding, ...changing, ...inboxDeletion },
  messages,
  faults,
  refusals,
  upkeep,
  webhooks,
  deliveries: { ...queue, record, ...log },
  waits,
  reports,
};

/** The store as callers have it. */
export type Operated = Calls<typeof operations>;
