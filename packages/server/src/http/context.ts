import type { IncomingMessage, ServerResponse } from 'node:http';
import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox';
import type { FastifyBaseLogger, FastifyInstance, RawServerDefault } from 'fastify';
import type { Registry } from 'prom-client';
import type { Plans } from '../accounts/plans.ts';
import type { Clock } from '../clock.ts';
import type { Config } from '../config/config.ts';
import type { SignInCodes } from '../console/sign-in-codes.ts';
import type { EventBus } from '../events.ts';
import type { ByteBudget } from '../inbound/incoming-mail.ts';
import type { Receiver } from '../inbound/receiver.ts';
import type { Logger } from '../log.ts';
import type { Contents } from '../messages/contents.ts';
import type { HeldDeps } from '../messages/held.ts';
import type { Parsing } from '../reading/parsing.ts';
import type { Replays } from '../recordings/replay.ts';
import type { Store } from '../store.ts';
import type { UsageMeter } from '../usage/usage-meter.ts';
import type { SmtpClients } from '../waits/evidence.ts';
import type { WaitLog } from '../waits/wait-log.ts';
import type { NewWebhooks } from '../webhooks/new-webhook.ts';
import type { Admission, RateLimit } from './access/admission.ts';
import type { Guard } from './access/guard.ts';
import type { HeldRequests } from './access/held-requests.ts';
import type { ConnectionLimits } from './limits.ts';
import type { ResponseCache } from './response/etag.ts';

export interface HttpDeps {
  store: Store;
  parsing: Pick<Parsing, 'run'>;
  receiver: Receiver;
  budget: ByteBudget;
  replays: Pick<Replays, 'start'>;
  events: EventBus;
  /** Resolves when every SMTP refusal before this call can be read from the store. */
  refusalsWritten(): Promise<void>;
  smtp?: {
    visits: SmtpClients;
    /** Null before the server listens. */
    endpoint(): { host: string; port: number; tlsPort: number | null } | null;
  } | null;
  receivesAll?: boolean;
  /** When the SMTP server sent the reply 250 for a message, epoch milliseconds; null if unknown. */
  repliedAt(messageId: string): number | null;
  newWebhooks: NewWebhooks;
  /** The time of webhook schedules, epoch milliseconds; default: the wall clock. */
  scheduleNow?: () => number;
  waitLog: WaitLog;
  plans: Plans;
  rate: RateLimit;
  usage: UsageMeter;
  clock: Clock;
  log: Logger;
  metrics: Registry;
  /** Whether the development key is accepted, by Mayfly's own API or only by imitated APIs. */
  hasDevKey?: boolean | undefined;
  signInCodes: SignInCodes;
  /** Set only by tests. */
  limits?: Partial<ConnectionLimits>;
}

export interface RouteContext {
  options: Config;
  deps: HttpDeps;
  held: HeldRequests;
  heldDeps: HeldDeps;
  contents: Contents;
  responses: ResponseCache;
  guard: Pick<Guard, keyof Guard>;
  admission: Admission;
  /** A header value that marks requests of POP3 and imitated APIs to Mayfly's API. Clients do not know it. */
  dialectSecret: string;
}

export type App = FastifyInstance<
  RawServerDefault,
  IncomingMessage,
  ServerResponse,
  FastifyBaseLogger,
  TypeBoxTypeProvider
>;
