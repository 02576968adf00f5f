import type { Config } from './config.ts';
import { SETTINGS } from './settings.ts';

/** The settings of each listener. */
const LISTENERS = {
  http: { host: 'httpHost', ports: ['httpPort'] },
  smtp: { host: 'smtpHost', ports: ['smtpPort', 'smtpsPort'] },
} as const;

/** What is wrong in the operator's words, by the code of the system call that failed. */
const EXPLAINED: Readonly<Record<string, (where: string, host: string, port: string) => string>> = {
  EADDRINUSE: (where, _host, port) =>
    `${where} is taken: end what listens there (another Mayfly?), or set ${port} to another port`,
  EACCES: (where, _host, port) =>
    `${where} may not be opened by this user: set ${port} to a port from 1024, or give the process the right (CAP_NET_BIND_SERVICE)`,
  EADDRNOTAVAIL: (where, host) =>
    `${where} is at no address of this machine: set ${host} to one that is, or to 0.0.0.0 for all`,
  ENOTFOUND: (where, host) => `${where} is at no known host: set ${host} to an address of this machine`,
};

/** Why a listener does not start, with the setting to change; an error of another kind is answered as it is. */
export function explainListening(error: unknown, role: keyof typeof LISTENERS, config: Config): unknown {
  if (!(error instanceof Error && 'code' in error)) return error;
  const explain = EXPLAINED[String(error.code)];
  if (!explain) return error;
  const { host, ports } = LISTENERS[role];
  const failed = 'port' in error ? error.port : undefined;
  const port = ports.find((one) => config[one] === failed) ?? ports[0];
  const where = `port ${config[port]} on ${config[host]}`;
  return new Error(explain(where, SETTINGS[host].name, SETTINGS[port].name), { cause: error });
}
