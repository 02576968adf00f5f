import { setting } from './setting.ts';
import { cidrs, count, host, listOf, nameServer, oneOf, orNone, PORT, pem, port } from './values.ts';

/** Incoming mail. */
export const SMTP_SETTINGS = {
  smtpHost: setting({
    name: 'MAYFLY_SMTP_HOST',
    fallback: '127.0.0.1',
    allowed: 'an IP address of this machine or a host name',
    sentence: 'Address that both SMTP ports listen on. 0.0.0.0 accepts connections from everywhere.',
    parse: host,
  }),
  smtpPort: setting({
    name: 'MAYFLY_SMTP_PORT',
    fallback: '2525',
    allowed: PORT,
    sentence: 'Port for SMTP; with STARTTLS where MAYFLY_SMTP_STARTTLS offers it.',
    parse: port,
  }),
  smtpsPort: setting({
    name: 'MAYFLY_SMTPS_PORT',
    fallback: '',
    allowed: `${PORT}, or nothing for no such listener`,
    sentence: 'A second SMTP port, with TLS from the first byte.',
    parse: orNone(port),
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
    allowed: 'auto, self-signed or off',
    sentence:
      'Whether STARTTLS is offered: auto only with MAYFLY_SMTP_TLS_CERT; self-signed always, with a generated certificate where none is given, which most mail libraries reject; off never.',
    parse: oneOf(['auto', 'self-signed', 'off'] as const),
  }),
  smtpAuth: setting({
    name: 'MAYFLY_SMTP_AUTH',
    fallback: 'inbox',
    allowed: 'inbox, any or off',
    sentence:
      'Which SMTP user names and passwords are accepted: inbox only those of an inbox, which then takes all mail of the session (docs/smtp.md); any all others too, which change nothing; off none.',
    parse: oneOf(['inbox', 'any', 'off'] as const),
  }),
  smtpAuthPlaintext: setting({
    name: 'MAYFLY_SMTP_AUTH_PLAINTEXT',
    fallback: 'off',
    allowed: 'on or off',
    sentence:
      'Whether SMTP AUTH is offered on connections without TLS from other machines; it always is on loopback and with TLS.',
    parse: oneOf(['on', 'off'] as const),
  }),
  smtpProxyFrom: setting({
    name: 'MAYFLY_SMTP_PROXY_FROM',
    fallback: '',
    allowed: 'networks in CIDR notation, separated by commas, or nothing',
    sentence:
      'Load balancers that send the PROXY protocol (version 1 or 2). A PROXY header from any other address is rejected.',
    parse: cidrs,
  }),
  smtpBareLineEndings: setting({
    name: 'MAYFLY_SMTP_BARE_LINE_ENDINGS',
    fallback: 'refuse',
    allowed: 'refuse or normalise',
    sentence:
      'What happens to a message that contains a CR or LF on its own: refuse rejects it (550 5.6.11), normalise replaces each by CRLF. Command lines that end with LF alone are rejected or accepted likewise.',
    parse: oneOf(['refuse', 'normalise'] as const),
  }),
  smtpMaxConnections: setting({
    name: 'MAYFLY_SMTP_MAX_CONNECTIONS',
    fallback: '2000',
    allowed: 'a number of connections from 1 to 999999999',
    sentence: 'How many SMTP connections may be open at once. Further clients get 421.',
    parse: count,
  }),
  smtpMaxConnectionsPerAddress: setting({
    name: 'MAYFLY_SMTP_MAX_CONNECTIONS_PER_ADDRESS',
    fallback: '50',
    allowed: 'a number of connections from 1 to 999999999',
    sentence: 'How many of them one IP address may have. Clients on this machine are not limited.',
    parse: count,
  }),
  mailAuth: setting({
    name: 'MAYFLY_MAIL_AUTH',
    fallback: 'on',
    allowed: 'on or off',
    sentence: 'Whether mail from other machines is checked by SPF, DKIM and DMARC.',
    parse: oneOf(['on', 'off'] as const),
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
    allowed: 'refuse or log',
    sentence: 'What happens to mail to postmaster: refuse rejects it, log accepts it and logs that it came.',
    parse: oneOf(['refuse', 'log'] as const),
  }),
};
