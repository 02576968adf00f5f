import { setting } from './setting.ts';
import {
  baseUrl,
  CONNECTIONS,
  corsOrigins,
  metricsSwitch,
  OWN_HOST,
  orNone,
  PORT,
  PORT_OR_NONE,
  SWITCH,
} from './values.ts';

/** The API, and the metrics. */
export const HTTP_SETTINGS = {
  httpHost: setting({
    name: 'MAYFLY_HTTP_HOST',
    fallback: '127.0.0.1',
    ...OWN_HOST,
    sentence:
      'Address that the API listens on. The default accepts connections from this machine only, 0.0.0.0 from everywhere.',
  }),
  httpPort: setting({
    name: 'MAYFLY_HTTP_PORT',
    fallback: '8025',
    ...PORT,
    sentence: 'Port of the API.',
  }),
  publicUrl: setting({
    name: 'MAYFLY_PUBLIC_URL',
    fallback: '',
    allowed:
      'an http or https URL without user name, query and fragment, or nothing for the host of each request',
    sentence: 'Base of the URLs in responses: the URL of the reverse proxy, if there is one.',
    parse: orNone(baseUrl),
  }),
  corsOrigins: setting({
    name: 'MAYFLY_CORS_ORIGINS',
    fallback: '',
    allowed:
      'origins such as https://app.example.com, separated by commas, or * for every origin, or nothing',
    sentence:
      'Web pages of these origins may call the API from a browser. They need an API key or a read token; cookies are never accepted from them.',
    parse: corsOrigins,
  }),
  console: setting({
    name: 'MAYFLY_CONSOLE',
    fallback: 'on',
    ...SWITCH,
    sentence: 'on serves the web console at / and /console; off removes it and its sessions.',
  }),
  httpMaxConnectionsPerAddress: setting({
    name: 'MAYFLY_HTTP_MAX_CONNECTIONS_PER_ADDRESS',
    fallback: '2000',
    ...CONNECTIONS,
    sentence:
      'How many of the 10000 API connections one client address (of IPv6, one /64 network) may have. Behind a reverse proxy all clients have its address: set it to 10000 there.',
  }),
  metricsHost: setting({
    name: 'MAYFLY_METRICS_HOST',
    fallback: '127.0.0.1',
    ...OWN_HOST,
    sentence: 'Address that the listener of MAYFLY_METRICS_PORT listens on.',
  }),
  metricsPort: setting({
    name: 'MAYFLY_METRICS_PORT',
    fallback: '',
    ...PORT_OR_NONE,
    sentence: 'A port that serves /metrics for Prometheus and nothing else.',
  }),
  metrics: setting({
    name: 'MAYFLY_METRICS',
    fallback: 'off',
    allowed: 'on or off',
    sentence:
      'on also serves /metrics on the port of the API, to everyone who reaches it, without a credential.',
    parse: metricsSwitch,
  }),
};
