/** `@mayfly/cypress`: the tasks, for `setupNodeEvents`. Specs import `@mayfly/cypress/commands`. */
import { type api, type CreateOptions, type Inbox, Mayfly, type MayflyOptions } from '@mayfly/client';
import { type CypressInbox, fromJson, type WaitArguments } from './wire.ts';

export type {
  CypressCodeWait,
  CypressInbox,
  CypressLinkWait,
  CypressMessageWait,
  CypressSilence,
} from './wire.ts';

type Tasks = Record<string, (argument: unknown) => Promise<unknown>>;
/** The part of Cypress's type that is used. */
type On = (event: 'task', tasks: Tasks) => void;

/**
 * The tasks as functions. The text of an error contains the explanation of a wait. Tasks never return
 * `undefined`, which Cypress rejects.
 */
export function createTasks(options: MayflyOptions = {}) {
  const mayfly = new Mayfly(options);
  /** Each inbox object remembers the message that its last wait returned. */
  const handles = new Map<string, Inbox>();
  const handle = (id: string): Inbox => {
    const inbox = handles.get(id) ?? mayfly.inbox(id);
    handles.set(id, inbox);
    return inbox;
  };
  return {
    'mayfly:createInbox': async (create: CreateOptions | null): Promise<CypressInbox> => {
      const inbox = await mayfly.createInbox(create ?? {});
      handles.set(inbox.id, inbox);
      const { id, address, phoneNumber, expiresAt } = inbox.data;
      return { id, address, phoneNumber, expiresAt };
    },
    'mayfly:waitForMessage': async ({ inboxId, wait }: WaitArguments): Promise<api.Message> => ({
      ...(await handle(inboxId).waitForMessage(fromJson(wait) as object)),
    }),
    'mayfly:waitForCode': ({ inboxId, wait }: WaitArguments): Promise<string> =>
      handle(inboxId).waitForCode(fromJson(wait) as object),
    'mayfly:waitForLink': ({ inboxId, wait }: WaitArguments): Promise<string> =>
      handle(inboxId).waitForLink(fromJson(wait) as object),
    'mayfly:expectSilence': async ({ inboxId, wait }: WaitArguments): Promise<null> => {
      await handle(inboxId).expectSilence(fromJson(wait) as object);
      return null;
    },
    'mayfly:deleteInbox': async (inboxId: string): Promise<null> => {
      await handle(inboxId).delete();
      handles.delete(inboxId);
      return null;
    },
  };
}

/**
 * For `setupNodeEvents(on, config)`: registers the tasks. The key stays in Node.js: in MAYFLY_API_KEY, or in
 * the options; a server on this machine needs none. @returns the configuration, unchanged
 */
export function mayfly<Config>(on: On, config: Config, options?: MayflyOptions): Config {
  // Cypress passes the arguments of the commands unchanged.
  on('task', createTasks(options) as unknown as Tasks);
  return config;
}
