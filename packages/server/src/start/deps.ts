import type { Clock } from '../clock.ts';
import type { Config } from '../config/config.ts';
import { explainListening, type ListenerName } from '../config/explain-listening.ts';
import type { Logger } from '../log.ts';
import type { Resolve } from '../webhooks/outbound/resolve.ts';
import type { Opened } from './opened.ts';

/** What differs from the configuration, mostly for tests. */
export interface Overrides {
  clock?: Clock;
  log?: Logger;
  /** How many lines the log has dropped because its output did not take them. */
  droppedLogLines?: () => number;
  /** How host names of webhooks are looked up. */
  resolve?: Resolve;
  /** Waits between the attempts of a webhook delivery, milliseconds. */
  retryDelays?: readonly number[];
  /** True where a metrics port that is in use is only logged: `mayfly dev` opens one by default. */
  mayLackMetrics?: boolean;
}

/** What the parts are made from. */
export interface StartDeps {
  config: Config;
  overrides: Overrides;
  clock: Clock;
  log: Logger;
  opened: Opened;
}

/** The domain of addresses that Mayfly makes for itself. */
export const firstDomain = ({ domains }: Config): string => domains[0] ?? 'localhost';

/** The URL of a listener. IPv6 literals stand in brackets (RFC 3986 section 3.2.2). */
export const urlOf = (host: string, port: number): string =>
  `http://${host.includes(':') ? `[${host}]` : host}:${port}`;

/** Explains why a listener could not start, with the setting to change. */
export const listening = <T>(name: ListenerName, config: Config, started: Promise<T>): Promise<T> =>
  started.catch((error) => {
    throw explainListening(error, name, config);
  });
