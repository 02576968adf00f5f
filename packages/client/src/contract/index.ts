/** The wire contract: each schema validates, documents and types one thing; value and type share a name. */
export * from './account-messages.ts';
export * from './accounts.ts';
export * from './addresses.ts';
export * from './common.ts';
export * from './domains.ts';
export * from './events.ts';
export * from './inboxes.ts';
export * from './keys.ts';
export * from './lint.ts';
export * from './messages.ts';
export * from './previews.ts';
export * from './problem.ts';
export * from './recordings.ts';
export * from './ref.ts';
export * from './usage.ts';
export * from './waits.ts';
export * from './webhooks.ts';
