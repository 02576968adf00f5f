import type { FastifyRequest } from 'fastify';

/**
 * The base of URLs in responses: the public URL where the operator gave one, else the host that the
 * client itself named, else the address it reached. Only the client that sent a host reads it back.
 */
export function baseUrl(publicUrl: string | null, { headers, socket }: FastifyRequest): string {
  if (publicUrl !== null) return publicUrl;
  if (headers.host) return `http://${headers.host}`;
  const { localAddress = '127.0.0.1', localPort = 80 } = socket;
  return `http://${localAddress.includes(':') ? `[${localAddress}]` : localAddress}:${localPort}`;
}
