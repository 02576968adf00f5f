import type { Config } from './config.ts';
import { SETTINGS } from './settings.ts';

const LISTENERS = {
  http: { host: 'httpHost', ports: ['httpPort'] },
  smtp: { host: 'smtpHost', ports: ['smtpPort', 'smtpsPort'] },
  metrics: { host: 'metricsHost', ports: ['metricsPort'] },
} as const;

const EXPLAINED: Readonly<Record<string, (where: string, host: string, port: string) => string>> = {
  EADDRINUSE: (where, _host, port) =>
    `${where} is in use. Stop the program that listens there (another Mayfly?), or set ${port} to another port.`,
  EACCES: (where, _host, port) =>
    `${where} needs a right that this user does not have. Set ${port} to a port from 1024, or give the process the capability CAP_NET_BIND_SERVICE.`,
  EADDRNOTAVAIL: (where, host) =>
    `${where} cannot be opened, because this machine does not have that address. Set ${host} to one of its addresses, or to 0.0.0.0 for all of them.`,
  ENOTFOUND: (where, host) =>
    `${where} cannot be opened, because the host name is unknown. Set ${host} to an IP address of this machine.`,
};

export type ListenerName = keyof typeof LISTENERS;

/** @returns an Error that says why a listener does not start and which setting to change, or `error` itself */
export function explainListening(error: unknown, name: ListenerName, config: Config): unknown {
  if (!(error instanceof Error && 'code' in error)) return error;
  const explain = EXPLAINED[String(error.code)];
  if (!explain) return error;
  const { host, ports } = LISTENERS[name];
  const failed = 'port' in error ? error.port : undefined;
  const port = ports.find((one) => config[one] === failed) ?? ports[0];
  const where = `Port ${config[port]} on ${config[host]}`;
  return new Error(explain(where, SETTINGS[host].name, SETTINGS[port].name), { cause: error });
}
