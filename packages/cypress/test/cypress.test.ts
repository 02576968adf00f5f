import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startApp, TEST_KEY, type TestApp } from '../../server/test/support/start-app.ts';
import { type CypressInbox, mayfly } from '../src/index.ts';

type Tasks = Record<string, (argument: unknown) => Promise<unknown>>;
type Command = (...args: unknown[]) => Promise<unknown>;

let app: TestApp;
/** What specs see: the commands of a stub of Cypress, whose tasks get and return JSON, as the real ones. */
const cy: Record<string, Command> = {};
const log: string[] = [];
const timeouts: number[] = [];

beforeAll(async () => {
  app = await startApp();
  let tasks: Tasks = {};
  const config = { baseUrl: 'http://app.test' };
  const returned = mayfly(
    (_event, registered) => {
      tasks = registered as Tasks;
    },
    config,
    { url: app.url, apiKey: TEST_KEY },
  );
  expect(returned).toBe(config);
  const stub = {
    Cypress: {
      Commands: {
        add: (name: string, command: Command) => {
          cy[name] = command;
        },
      },
      log: ({ name, message }: { name: string; message: string }) => log.push(`${name} ${message}`),
    },
    cy: {
      async task(name: string, argument: unknown, { timeout }: { timeout: number }) {
        timeouts.push(timeout);
        const result = await tasks[name]?.(JSON.parse(JSON.stringify(argument)));
        expect(result).not.toBe(undefined);
        return JSON.parse(JSON.stringify(result));
      },
    },
  };
  Object.assign(globalThis, stub);
  await import('../src/commands.ts');
});
afterAll(() => app.stop());

const newInbox = async () => (await cy.createInbox?.({ ttlMinutes: 5 })) as CypressInbox;
const send = (to: string, subject: string, text: string, html?: string) =>
  app.send({ from: 'no-reply@shop.example', to, subject, text, ...(html && { html }) });

describe('the commands of @mayfly/cypress, with a stub of Cypress', () => {
  it('take a code, a link and a mail from an inbox, each after the last one', async () => {
    const inbox = await newInbox();
    await send(inbox.address, 'Code', 'Your code is 482913.');
    expect(await cy.waitForCode?.(inbox)).toBe('482913');
    await send(inbox.address, 'Code', 'Ticket AB-77');
    expect(await cy.waitForCode?.(inbox, { pattern: /Ticket (\S+)/ })).toBe('AB-77');
    await send(inbox.address, 'Reset', 'x', '<a href="https://a.example/reset?t=1">Reset</a>');
    expect(await cy.waitForLink?.(inbox, { href: /reset\?t=\d/ })).toBe('https://a.example/reset?t=1');
    await send(inbox.address, 'Last', 'x');
    expect(await cy.waitForMessage?.(inbox, { subject: 'last' })).toMatchObject({
      subject: 'Last',
      links: [],
    });
    expect(log).toContain(`waitForMessage ${inbox.address} {"subject":"last"}`);
    expect(await cy.deleteInbox?.(inbox)).toBe(null);
  });

  it('fail with the explanation, and give the task more time than the wait', async () => {
    const inbox = await newInbox();
    await send(inbox.address, 'Welcome', 'x');
    await expect(cy.waitForMessage?.(inbox, { subject: 'reset', timeout: 100 })).rejects.toThrow(
      'subject is "Welcome"',
    );
    expect(timeouts.at(-1)).toBe(5_100);
    await expect(cy.expectSilence?.(inbox, { within: 100 })).rejects.toThrow('none was expected');
    expect(await cy.expectSilence?.(inbox, { subject: 'other', within: 100 })).toBe(null);
  });
});
