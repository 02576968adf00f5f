export interface HostPort {
  host: string;
  port: number;
  /** Returns host and port as they were configured. */
  toString(): string;
}

export function splitPort(text: string): { host: string; port?: string } | undefined {
  const [, bracketed, plain, port] = /^(?:\[([^\]]+)\]|([^:]*))(?::(\d{1,5}))?$/.exec(text) ?? [];
  const host = bracketed ?? plain;
  return host === undefined ? undefined : { host, ...(port !== undefined && { port }) };
}
