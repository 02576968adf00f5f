import { setting } from './setting.ts';
import {
  CONNECTIONS,
  host,
  listOf,
  NETWORKS,
  nameServer,
  OWN_HOST,
  oneOf,
  orNone,
  PORT,
  PORT_OR_NONE,
  pem,
  SWITCH,
} from './values.ts';

/** Incoming mail. */
export const SMTP_SETTINGS = {
  smtpHost: setting({
    name: 'MAYFLY_SMTP_HOST',
    fallback: '127.0.0.1',
    ...OWN_HOST,
    sentence: 'Address that both SMTP ports listen on. 0.0.0.0 accepts connections from everywhere.',
  }),
  smtpPort: setting({
    name: 'MAYFLY_SMTP_PORT',
    fallback: '2525',
    ...PORT,
    sentence: 'Port for SMTP; with STARTTLS where MAYFLY_SMTP_STARTTLS offers it.',
  }),
  smtpsPort: setting({
    name: 'MAYFLY_SMTPS_PORT',
    fallback: '',
    ...PORT_OR_NONE,
    sentence: 'A second SMTP port, with TLS from the first byte.',
  }),
  smtpName: setting({
    name: 'MAYFLY_SMTP_NAME',
    fallback: '',
    allowed: 'a host name, or nothing for the first domain',
    sentence: 'Name of the SMTP server, in its greeting and in Received header lines.',
    parse: orNone(host),
  }),
  smtpTlsCert: setting({
    name: 'MAYFLY_SMTP_TLS_CERT',
    fallback: '',
    allowed: 'a certificate chain in PEM format, or nothing',
    sentence:
      'Certificate of STARTTLS and of the TLS port; usually given as MAYFLY_SMTP_TLS_CERT_FILE. Without it the TLS port uses a self-signed one, made at each start.',
    parse: orNone(pem('CERTIFICATE')),
  }),
  smtpTlsKey: setting({
    name: 'MAYFLY_SMTP_TLS_KEY',
    fallback: '',
    allowed: 'a private key in PEM format, together with MAYFLY_SMTP_TLS_CERT',
    sentence: 'Key of that certificate; usually given as MAYFLY_SMTP_TLS_KEY_FILE.',
    secret: true,
    parse: orNone(pem('PRIVATE KEY')),
  }),
  smtpStartTls: setting({
    name: 'MAYFLY_SMTP_STARTTLS',
    fallback: 'auto',
    ...oneOf('auto', 'self-signed', 'off'),
    sentence:
      'Whether STARTTLS is offered: auto only with MAYFLY_SMTP_TLS_CERT; self-signed always, with a generated certificate where none is given, which most mail libraries reject; off never.',
  }),
  smtpAuth: setting({
    name: 'MAYFLY_SMTP_AUTH',
    fallback: 'inbox',
    ...oneOf('inbox', 'any', 'off'),
    sentence:
      'Which SMTP user names and passwords are accepted: inbox only those of an inbox, which then takes all mail of the session (docs/smtp.md); any all others too, which change nothing; off none.',
  }),
  smtpAuthPlaintext: setting({
    name: 'MAYFLY_SMTP_AUTH_PLAINTEXT',
    fallback: 'off',
    ...SWITCH,
    sentence:
      'Whether SMTP AUTH is offered on connections without TLS from other machines; it always is on loopback and with TLS.',
  }),
  smtpProxyFrom: setting({
    name: 'MAYFLY_SMTP_PROXY_FROM',
    fallback: '',
    ...NETWORKS,
    sentence:
      'Load balancers that send the PROXY protocol (version 1 or 2). A PROXY header from any other address is rejected.',
  }),
  smtpBareLineEndings: setting({
    name: 'MAYFLY_SMTP_BARE_LINE_ENDINGS',
    fallback: 'refuse',
    ...oneOf('refuse', 'normalise'),
    sentence:
      'What happens to a message that contains a CR or LF on its own: refuse rejects it (550 5.6.11), normalise replaces each by CRLF. Command lines that end with LF alone are rejected or accepted likewise.',
  }),
  smtpMaxConnections: setting({
    name: 'MAYFLY_SMTP_MAX_CONNECTIONS',
    fallback: '2000',
    ...CONNECTIONS,
    sentence: 'How many SMTP connections may be open at once. Further clients get 421.',
  }),
  smtpMaxConnectionsPerAddress: setting({
    name: 'MAYFLY_SMTP_MAX_CONNECTIONS_PER_ADDRESS',
    fallback: '50',
    ...CONNECTIONS,
    sentence: 'How many of them one IP address may have. Clients on this machine are not limited.',
  }),
  mailAuth: setting({
    name: 'MAYFLY_MAIL_AUTH',
    fallback: 'on',
    ...SWITCH,
    sentence: 'Whether mail from other machines is checked by SPF, DKIM and DMARC.',
  }),
  dnsServers: setting({
    name: 'MAYFLY_DNS_SERVERS',
    fallback: '',
    allowed:
      'IP addresses, each with or without a port, separated by commas, or nothing for the name servers of this machine',
    sentence: 'Name servers for the checks of senders and for the host names of webhooks.',
    parse: orNone(listOf(nameServer)),
  }),
  postmaster: setting({
    name: 'MAYFLY_POSTMASTER',
    fallback: 'refuse',
    ...oneOf('refuse', 'log'),
    sentence: 'What happens to mail to postmaster: refuse rejects it, log accepts it and logs that it came.',
  }),
};
