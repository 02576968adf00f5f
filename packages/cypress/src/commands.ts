/** `@mayfly/cypress/commands`: for the support file. Each command is one task, so the server does the waiting. */
import type { api } from '@mayfly/client';
import {
  type CypressInbox,
  type CypressLinkMatch,
  type CypressMatch,
  type CypressWaitOptions,
  toJson,
} from './wire.ts';

type CreateInbox = api.CreateInbox;
type Silence = Omit<CypressWaitOptions, 'timeoutMs'> & { forMs?: number };

declare global {
  namespace Cypress {
    // The parameter must be the same as in Cypress's own declaration.
    // biome-ignore lint/suspicious/noExplicitAny: Cypress's own default.
    interface Chainable<Subject = any> {
      /** Creates an inbox. */
      createInbox(options?: CreateInbox): Chainable<CypressInbox>;
      /** Waits for the first mail that matches, in full. */
      waitForMail(
        inbox: CypressInbox,
        match?: CypressMatch,
        options?: CypressWaitOptions,
      ): Chainable<api.Message>;
      /** Waits for a mail with a one-time code. */
      waitForCode(
        inbox: CypressInbox,
        match?: CypressMatch & { pattern?: RegExp },
        options?: CypressWaitOptions,
      ): Chainable<string>;
      /** Waits for a mail with the link. It is not opened. */
      waitForLink(
        inbox: CypressInbox,
        match?: CypressLinkMatch,
        options?: CypressWaitOptions,
      ): Chainable<string>;
      /** Fails when a mail matches within `forMs` (2,000). */
      expectNoMail(inbox: CypressInbox, match?: CypressMatch, options?: Silence): Chainable<null>;
      deleteInbox(inbox: CypressInbox): Chainable<null>;
    }
  }
}

/** The parts of Cypress that this file uses. */
interface Globals {
  Cypress: {
    Commands: { add(name: string, command: (...args: never[]) => unknown): void };
    log(options: { name: string; message: string }): unknown;
  };
  cy: { task(name: string, argument: unknown, options: { timeout: number; log: boolean }): unknown };
}
const { Cypress, cy } = globalThis as unknown as Globals;

const DEFAULT_WAIT_MS = 30_000;
/** For the way to Node.js and the server, and back. */
const RESERVE_MS = 5_000;

const task = (name: string, message: string, argument: unknown, ms = DEFAULT_WAIT_MS) => {
  Cypress.log({ name, message });
  return cy.task(`mayfly:${name}`, argument, { timeout: ms + RESERVE_MS, log: false });
};

const waiting =
  (name: string) =>
  (inbox: CypressInbox, match: object = {}, options: CypressWaitOptions & { forMs?: number } = {}) => {
    const message = `${inbox.address} ${JSON.stringify(toJson(match))}`;
    return task(
      name,
      message,
      { inboxId: inbox.id, match: toJson(match), options },
      options.timeoutMs ?? options.forMs,
    );
  };

Cypress.Commands.add('createInbox', (options?: CreateInbox) =>
  task('createInbox', JSON.stringify(options ?? {}), options ?? null),
);
for (const name of ['waitForMail', 'waitForCode', 'waitForLink', 'expectNoMail'])
  Cypress.Commands.add(name, waiting(name));
Cypress.Commands.add('deleteInbox', (inbox: CypressInbox) => task('deleteInbox', inbox.address, inbox.id));
