/** `@mayfly/cypress/commands`: for the support file. Each command is one task, so the server does the waiting. */
import type { api } from '@mayfly/client';
import {
  type CypressCodeWait,
  type CypressInbox,
  type CypressLinkWait,
  type CypressMessageWait,
  type CypressSilence,
  toJson,
} from './wire.ts';

type CreateInbox = api.CreateInbox;

declare global {
  namespace Cypress {
    // The parameter must be the same as in Cypress's own declaration.
    // biome-ignore lint/suspicious/noExplicitAny: Cypress's own default.
    interface Chainable<Subject = any> {
      /** Creates an inbox. */
      createInbox(options?: CreateInbox): Chainable<CypressInbox>;
      /** Waits for the first mail that matches, in full. */
      waitForMessage(inbox: CypressInbox, wait?: CypressMessageWait): Chainable<api.Message>;
      /** Waits for a mail with a one-time code. */
      waitForCode(inbox: CypressInbox, wait?: CypressCodeWait): Chainable<string>;
      /** Waits for a mail with the link. It is not opened. */
      waitForLink(inbox: CypressInbox, wait?: CypressLinkWait): Chainable<string>;
      /** Fails when a mail matches `within` 2,000 ms. */
      expectSilence(inbox: CypressInbox, silence?: CypressSilence): Chainable<null>;
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

const DEFAULT_WAIT = 30_000;
/** Time for the round trip to Node.js and the server. */
const RESERVE = 5_000;

const task = (name: string, message: string, argument: unknown, timeout = DEFAULT_WAIT) => {
  Cypress.log({ name, message });
  return cy.task(`mayfly:${name}`, argument, { timeout: timeout + RESERVE, log: false });
};

const waiting =
  (name: string) =>
  (inbox: CypressInbox, wait: { timeout?: number; within?: number } = {}) => {
    const sent = toJson(wait);
    const message = `${inbox.address} ${JSON.stringify(sent)}`;
    return task(name, message, { inboxId: inbox.id, wait: sent }, wait.timeout ?? wait.within);
  };

Cypress.Commands.add('createInbox', (options?: CreateInbox) =>
  task('createInbox', JSON.stringify(options ?? {}), options ?? null),
);
for (const name of ['waitForMessage', 'waitForCode', 'waitForLink', 'expectSilence'])
  Cypress.Commands.add(name, waiting(name));
Cypress.Commands.add('deleteInbox', (inbox: CypressInbox) => task('deleteInbox', inbox.address, inbox.id));
