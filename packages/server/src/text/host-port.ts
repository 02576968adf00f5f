export interface HostPort {
  host: string;
  port: number;
  /** As in the setting. */
  toString(): string;
}

export function splitPort(text: string): { host: string; port?: string } | undefined {
  const [, bracketed, plain, port] = /^(?:\[([^\]]+)\]|([^:]*))(?::(\d{1,5}))?$/.exec(text) ?? [];
  const host = bracketed ?? plain;
  return host === undefined ? undefined : { host, ...(port !== undefined && { port }) };
}
