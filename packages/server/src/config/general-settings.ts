import { LOG_LEVELS } from '../log.ts';
import { setting } from './setting.ts';
import {
  chosenKey,
  folder,
  hostname,
  listOf,
  MIN_CHOSEN_KEY_LETTERS,
  NETWORKS,
  oneOf,
  orNone,
  plans,
  postgresUrl,
  SWITCH,
} from './values.ts';

/** What serves both sides: data, domains, accounts, webhooks, logs. */
export const GENERAL_SETTINGS = {
  dataDir: setting({
    name: 'MAYFLY_DATA_DIR',
    fallback: './data',
    allowed: 'the path of a folder; it is created when it is missing',
    sentence: 'Folder of the embedded database.',
    parse: folder,
  }),
  databaseUrl: setting({
    name: 'MAYFLY_DATABASE_URL',
    fallback: '',
    allowed:
      'a URL such as postgres://user:password@host:5432/database, or nothing for the embedded database',
    sentence:
      'PostgreSQL 15 or newer instead of the embedded database. Several servers may share one (docs/operations.md).',
    secret: true,
    parse: orNone(postgresUrl),
  }),
  domains: setting({
    name: 'MAYFLY_DOMAINS',
    fallback: 'mayfly.test',
    allowed: 'domain names in lower case, separated by commas',
    sentence: 'Domains whose mail is received. The first is the default of new inboxes.',
    parse: listOf(hostname),
  }),
  sink: setting({
    name: 'MAYFLY_SINK',
    fallback: 'off',
    ...SWITCH,
    sentence:
      'Whether one permanent inbox, the sink, takes every mail to any domain that no other inbox takes (docs/receiving.md).',
  }),
  roles: setting({
    name: 'MAYFLY_ROLES',
    fallback: 'http,smtp,worker',
    allowed: 'one or more of http, smtp and worker, separated by commas',
    sentence: 'What this process does. worker delivers webhooks and frees the space of what has expired.',
    parse: listOf(oneOf('http', 'smtp', 'worker').parse),
  }),
  webhookAllow: setting({
    name: 'MAYFLY_WEBHOOK_ALLOW',
    fallback: '',
    ...NETWORKS,
    sentence:
      'Networks that webhooks may reach although they are not public. Public addresses are always allowed.',
  }),
  apiKey: setting({
    name: 'MAYFLY_API_KEY',
    fallback: '',
    allowed: `${MIN_CHOSEN_KEY_LETTERS} or more characters of A-Z a-z 0-9 _ -; a key that begins with mfk_ must be complete`,
    sentence:
      'An API key of the first account that must be known beforehand, for example in a pipeline. Without it the first start generates one. Another value adds a key, and the old one works until it is revoked with mayfly key revoke.',
    secret: true,
    parse: orNone(chosenKey),
  }),
  devKey: setting({
    name: 'MAYFLY_DEV_KEY',
    fallback: 'off',
    ...SWITCH,
    sentence:
      'Whether "Authorization: Bearer dev" is the first account. Only `mayfly dev` has it, only while the API listens on loopback, and only for programs of this machine (docs/security.md).',
  }),
  plans: setting({
    name: 'MAYFLY_PLANS',
    fallback: '{}',
    allowed: 'a JSON object of plan names and their limits, null for no limit; see docs/accounts.md',
    sentence: 'Plans in addition to free, developer and unlimited, or other limits of these three.',
    parse: plans,
  }),
  signUpPlan: setting({
    name: 'MAYFLY_SIGNUP_PLAN',
    fallback: '',
    allowed: 'the name of a plan, or nothing to switch sign-up off',
    sentence: 'Lets everyone who reaches the API create an account on this plan by POST /v1/accounts.',
    parse: orNone((text) => text),
  }),
  logLevel: setting({
    name: 'MAYFLY_LOG_LEVEL',
    fallback: 'info',
    ...oneOf(...LOG_LEVELS),
    sentence: 'How much is logged on standard output, as one JSON line per event.',
  }),
};
