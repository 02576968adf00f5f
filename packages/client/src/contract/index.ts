/** The API contract: each schema validates, documents and types one thing. A schema and its type share a name. */

export * from './account/accounts.ts';
export * from './account/domains.ts';
export * from './account/keys.ts';
export * from './account/usage.ts';
export * from './common.ts';
export * from './inboxes/addresses.ts';
export * from './inboxes/faults.ts';
export * from './inboxes/inboxes.ts';
export * from './inboxes/recordings.ts';
export * from './inboxes/reports.ts';
export * from './messages/account-messages.ts';
export * from './messages/content.ts';
export * from './messages/events.ts';
export * from './messages/lint.ts';
export * from './messages/messages.ts';
export * from './messages/previews.ts';
export * from './messages/refusals.ts';
export * from './messages/timeline.ts';
export * from './messages/waits.ts';
export * from './outgoing.ts';
export * from './problem.ts';
export * from './providers.ts';
export * from './ref.ts';
export * from './webhooks.ts';
