import { LOG_LEVELS } from '../log.ts';
import {
  baseUrl,
  chosenKey,
  cidrs,
  count,
  folder,
  host,
  hostname,
  listOf,
  MIN_CHOSEN_KEY_LETTERS,
  nameServer,
  oneOf,
  orNone,
  pem,
  plans,
  port,
} from './values.ts';

/** One setting: said once here, and from here come parsing, `mayfly config`, and docs/configuration.md. */
export interface Setting<T> {
  /** The environment variable; `NAME_FILE` names a file that holds the value. */
  name: string;
  /** As it would be written in the environment; '' means not set. */
  fallback: string;
  /** Ends the sentence "allowed: …". */
  allowed: string;
  /** What it is for. */
  sentence: string;
  /** Its value is never shown. */
  secret?: true;
  /** @throws Error of any text when `text` is not allowed */
  parse(text: string): T;
}

const setting = <T>(one: Setting<T>): Setting<T> => one;

export const SETTINGS = {
  httpHost: setting({
    name: 'MAYFLY_HTTP_HOST',
    fallback: '127.0.0.1',
    allowed: 'an address or host name to listen on',
    sentence:
      'Where the API listens. The default is reached from this machine only; 0.0.0.0 opens it to all.',
    parse: host,
  }),
  httpPort: setting({
    name: 'MAYFLY_HTTP_PORT',
    fallback: '8025',
    allowed: 'a port from 0 to 65535; 0 takes a free one and prints it',
    sentence: 'The port of the API.',
    parse: port,
  }),
  smtpHost: setting({
    name: 'MAYFLY_SMTP_HOST',
    fallback: '127.0.0.1',
    allowed: 'an address or host name to listen on',
    sentence: 'Where mail comes in.',
    parse: host,
  }),
  smtpPort: setting({
    name: 'MAYFLY_SMTP_PORT',
    fallback: '2525',
    allowed: 'a port from 0 to 65535; 0 takes a free one and prints it',
    sentence: 'The port for SMTP; with STARTTLS where MAYFLY_SMTP_STARTTLS offers it.',
    parse: port,
  }),
  smtpsPort: setting({
    name: 'MAYFLY_SMTPS_PORT',
    fallback: '',
    allowed: 'a port from 0 to 65535, or nothing for no such listener',
    sentence: 'A second SMTP port that speaks TLS from the first byte.',
    parse: orNone(port),
  }),
  smtpName: setting({
    name: 'MAYFLY_SMTP_NAME',
    fallback: '',
    allowed: 'a host name, or nothing for the first domain',
    sentence: 'The name the SMTP server gives itself, in its greeting and in Received lines.',
    parse: orNone(host),
  }),
  smtpTlsCert: setting({
    name: 'MAYFLY_SMTP_TLS_CERT',
    fallback: '',
    allowed: 'a PEM certificate chain, or nothing',
    sentence:
      'The certificate of STARTTLS and of the TLS port; usually given as MAYFLY_SMTP_TLS_CERT_FILE. Without it the TLS port uses a self-signed one, made at each start.',
    parse: orNone(pem('CERTIFICATE')),
  }),
  smtpTlsKey: setting({
    name: 'MAYFLY_SMTP_TLS_KEY',
    fallback: '',
    allowed: 'a PEM private key, together with MAYFLY_SMTP_TLS_CERT',
    sentence: 'The key of that certificate; usually given as MAYFLY_SMTP_TLS_KEY_FILE.',
    secret: true,
    parse: orNone(pem('PRIVATE KEY')),
  }),
  smtpStartTls: setting({
    name: 'MAYFLY_SMTP_STARTTLS',
    fallback: 'auto',
    allowed: 'auto, self-signed, off',
    sentence:
      'Whether STARTTLS is offered: auto only with MAYFLY_SMTP_TLS_CERT; self-signed always, with a generated certificate where none is given, which most mail libraries reject; off never.',
    parse: oneOf(['auto', 'self-signed', 'off'] as const),
  }),
  smtpAuth: setting({
    name: 'MAYFLY_SMTP_AUTH',
    fallback: 'inbox',
    allowed: 'inbox, any, off',
    sentence:
      'Which SMTP user names and passwords are accepted: inbox only those of an inbox, which then takes all mail of the session (docs/smtp.md); any all others too, which change nothing; off none. The default of `mayfly dev` is any.',
    parse: oneOf(['inbox', 'any', 'off'] as const),
  }),
  smtpAuthPlaintext: setting({
    name: 'MAYFLY_SMTP_AUTH_PLAINTEXT',
    fallback: 'off',
    allowed: 'on, off',
    sentence:
      'Whether SMTP AUTH is offered on connections without TLS from other machines; it always is on loopback and with TLS.',
    parse: oneOf(['on', 'off'] as const),
  }),
  smtpProxyFrom: setting({
    name: 'MAYFLY_SMTP_PROXY_FROM',
    fallback: '',
    allowed: 'networks in CIDR form, separated by commas',
    sentence: 'Load balancers that speak the PROXY protocol (version 1 or 2) to us; nobody else may.',
    parse: cidrs,
  }),
  smtpBareLineEndings: setting({
    name: 'MAYFLY_SMTP_BARE_LINE_ENDINGS',
    fallback: 'refuse',
    allowed: 'refuse, normalise',
    sentence:
      'What to do with a message that contains a CR or LF on its own: refuse it (550 5.6.11), or replace each by CRLF. The default of `mayfly dev` is normalise.',
    parse: oneOf(['refuse', 'normalise'] as const),
  }),
  smtpMaxConnections: setting({
    name: 'MAYFLY_SMTP_MAX_CONNECTIONS',
    fallback: '2000',
    allowed: 'a number from 1',
    sentence: 'SMTP connections open at once; the next one hears 421.',
    parse: count,
  }),
  smtpMaxConnectionsPerAddress: setting({
    name: 'MAYFLY_SMTP_MAX_CONNECTIONS_PER_ADDRESS',
    fallback: '50',
    allowed: 'a number from 1',
    sentence: 'The same from one address; senders on this machine are exempt.',
    parse: count,
  }),
  mailAuth: setting({
    name: 'MAYFLY_MAIL_AUTH',
    fallback: 'on',
    allowed: 'on, off',
    sentence: 'Whether mail from other machines is checked by SPF, DKIM and DMARC.',
    parse: oneOf(['on', 'off'] as const),
  }),
  dnsServers: setting({
    name: 'MAYFLY_DNS_SERVERS',
    fallback: '',
    allowed:
      'addresses, each with or without a port, separated by commas; or nothing for those of the machine',
    sentence: 'The name servers that are asked for senders, and for the hosts of webhooks.',
    parse: orNone(listOf(nameServer)),
  }),
  postmaster: setting({
    name: 'MAYFLY_POSTMASTER',
    fallback: 'refuse',
    allowed: 'refuse, log',
    sentence: 'What to do with mail to postmaster: refuse it, or accept it and log that it came.',
    parse: oneOf(['refuse', 'log'] as const),
  }),
  dataDir: setting({
    name: 'MAYFLY_DATA_DIR',
    fallback: './data',
    allowed: 'a folder; it is made when missing',
    sentence: 'Where the embedded store keeps its files.',
    parse: folder,
  }),
  domains: setting({
    name: 'MAYFLY_DOMAINS',
    fallback: 'mayfly.test',
    allowed: 'domain names in lower case, separated by commas',
    sentence: 'The domains whose mail is received; the first is the default of new inboxes.',
    parse: listOf(hostname),
  }),
  roles: setting({
    name: 'MAYFLY_ROLES',
    fallback: 'http,smtp,worker',
    allowed: 'one or more of http, smtp, worker, separated by commas',
    sentence: 'What this process does; worker delivers webhooks and sweeps what is past its time.',
    parse: listOf(oneOf(['http', 'smtp', 'worker'] as const)),
  }),
  publicUrl: setting({
    name: 'MAYFLY_PUBLIC_URL',
    fallback: '',
    allowed: 'an http or https URL without query, or nothing for the host that each request names',
    sentence: 'The base of the URLs in answers.',
    parse: orNone(baseUrl),
  }),
  webhookAllow: setting({
    name: 'MAYFLY_WEBHOOK_ALLOW',
    fallback: '',
    allowed: 'networks in CIDR form, separated by commas',
    sentence: 'Private networks that webhooks may reach; public addresses always may.',
    parse: cidrs,
  }),
  apiKey: setting({
    name: 'MAYFLY_API_KEY',
    fallback: '',
    allowed: `${MIN_CHOSEN_KEY_LETTERS} or more of A-Z a-z 0-9 _ -; one that begins with mfk_ must be whole`,
    sentence:
      'A key of the first account that a pipeline must know beforehand; one is made and printed otherwise.',
    secret: true,
    parse: orNone(chosenKey),
  }),
  plans: setting({
    name: 'MAYFLY_PLANS',
    fallback: '{}',
    allowed: 'JSON: plan name to limits, null for no limit; see docs/accounts.md',
    sentence: 'Plans beside free, developer and unlimited, or other limits for those three.',
    parse: plans,
  }),
  signUpPlan: setting({
    name: 'MAYFLY_SIGNUP_PLAN',
    fallback: '',
    allowed: 'the name of a plan, or nothing: nobody signs up',
    sentence: 'Lets anyone who reaches the API make an account of that plan by POST /v1/accounts.',
    parse: orNone((text) => text),
  }),
  metrics: setting({
    name: 'MAYFLY_METRICS',
    fallback: 'loopback',
    allowed: 'loopback, on, off',
    sentence: 'Who may read /metrics: requests to a loopback listener, everyone, or nobody.',
    parse: oneOf(['loopback', 'on', 'off'] as const),
  }),
  logLevel: setting({
    name: 'MAYFLY_LOG_LEVEL',
    fallback: 'info',
    allowed: LOG_LEVELS.join(', '),
    sentence: 'How much is logged on standard output, one JSON line an event.',
    parse: oneOf(LOG_LEVELS),
  }),
};
