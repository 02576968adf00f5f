/**
 * What `mayfly dev` uses where a setting is not given, by variable name, in the form of the environment:
 * webhooks to this machine, a quiet terminal, an SMTP server that takes bare line feeds, any credentials and
 * mail to anyone, the development key.
 * The only place for these.
 */
export const DEV_DEFAULTS: Readonly<Record<string, string>> = {
  MAYFLY_METRICS_PORT: '8026',
  MAYFLY_DEV_KEY: 'on',
  MAYFLY_WEBHOOK_ALLOW: '127.0.0.0/8,::1/128',
  MAYFLY_LOG_LEVEL: 'warn',
  MAYFLY_SMTP_BARE_LINE_ENDINGS: 'normalise',
  MAYFLY_SMTP_AUTH: 'any',
  MAYFLY_SINK: 'on',
};
