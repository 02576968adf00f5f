import type { Socket } from 'node:net';
import type { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import {
  type Answer,
  Api,
  type Asked,
  type Credentials,
  Mailbox,
  type Maildrop,
  Pop3Connection,
  refusalOf,
} from '@mayfly/dialects';
import { SECOND_MS } from '../../clock.ts';
import type { Config } from '../../config/config.ts';
import { isLoopback, plainAddress, sourceKey } from '../../connection-limiter.ts';
import type { FindCaptureTarget } from '../../inbound/smtp-credentials.ts';
import { ConnectionServer, type ServerDeps } from '../../smtp/server.ts';
import { isDevKey } from '../access/credential.ts';
import { DIALECT_HEADER } from '../access/gate.ts';
import type { BuiltApp } from '../server.ts';

interface Pop3Deps extends ServerDeps {
  built: BuiltApp;
  findInbox: FindCaptureTarget;
}

/** The longest `Retry-After` after which POP3 repeats an API request. Its clients know no rate limits. */
const MAX_RETRY_AFTER_SECONDS = 5;

type Send = (
  asked: Asked,
) => Promise<{ status: number; headers: Answer['headers']; body: Readable; end(): void }>;

function maildropOf(send: Send, inboxId: string): Maildrop {
  const api = new Api(async (asked) => {
    const { status, headers, body } = await send(asked);
    return { status, headers, body: await buffer(body) };
  });
  const path = (id: string) => `/v1/inboxes/${inboxId}/messages/${id.split('-')[0]}/raw`;
  return {
    mailbox: new Mailbox(api, inboxId),
    async *raw(id) {
      const { status, body, end } = await send({ method: 'GET', path: path(id) });
      try {
        if (status >= 400) throw refusalOf({ status, body: await buffer(body) });
        yield* body;
      } finally {
        // Ends the response if the client did not read all of it.
        end();
      }
    },
  };
}

const senderOf =
  ({ built, clock }: Pop3Deps, stopping: AbortSignal, password: string, ip: string): Send =>
  async ({ method, path }) => {
    for (;;) {
      const { statusCode, headers, stream, raw } = await built.app.inject({
        method: method as 'GET',
        url: path,
        headers: {
          authorization: `Bearer ${password}`,
          host: 'localhost',
          // This header allows a read token to delete messages.
          ...(method === 'DELETE' && { [DIALECT_HEADER]: built.context.dialectSecret }),
        },
        remoteAddress: ip,
        payloadAsStream: true,
      });
      const end = () => void raw.res.destroy();
      const pause = statusCode === 429 ? Number(headers['retry-after']) : Number.NaN;
      if (!(pause <= MAX_RETRY_AFTER_SECONDS) || stopping.aborted)
        return { status: statusCode, headers: headers as Answer['headers'], body: stream(), end };
      end();
      await clock.sleep(pause * SECOND_MS, stopping);
    }
  };

async function inboxForDevKey(send: Send, username: string): Promise<{ id: string } | undefined> {
  const isAddress = username.includes('@');
  const path = isAddress
    ? `/v1/inboxes?${new URLSearchParams({ address: username })}`
    : `/v1/inboxes/${encodeURIComponent(username)}`;
  const { status, body } = await send({ method: 'GET', path });
  const found = JSON.parse(String(await buffer(body)));
  if (status !== 200) return undefined;
  return isAddress ? found.inboxes[0] : found;
}

/** Serves inboxes over POP3. Calls Mayfly's own API within this process. */
export function createPop3Server(config: Config, deps: Pop3Deps) {
  const { findInbox, log } = deps;
  const server = new ConnectionServer<Pop3Connection>('POP3', config, deps);
  const { limiter, certificate } = server;
  const stopping = new AbortController();

  const logIn = async ({ username, password }: Credentials, ip: string): Promise<Maildrop | undefined> => {
    const send = senderOf(deps, stopping.signal, password, ip);
    const hasDevKey = isDevKey(`Bearer ${password}`);
    // Unlike the API, POP3 may be open to other machines while the development key is valid.
    if (hasDevKey && !isLoopback(ip)) return undefined;
    const inbox = hasDevKey
      ? await inboxForDevKey(send, username)
      : await findInbox({ authorizeAs: '', username, password });
    return inbox && maildropOf(send, inbox.id);
  };

  const accept = (socket: Socket): void => {
    const ip = plainAddress(socket.remoteAddress);
    const connection = new Pop3Connection(socket, {
      source: sourceKey(ip),
      certificate: server.offersTls ? certificate : null,
      plaintext: config.smtpAuthPlaintext === 'on' || isLoopback(ip),
      logIn: (credentials) => logIn(credentials, ip),
      onUsed: (used) => limiter.used(used),
      onError: (err) => log.error({ err }, 'A POP3 session failed'),
      onClose: (closed) => {
        server.open.delete(closed);
        limiter.leave(closed);
      },
    });
    server.open.add(connection);
    if (limiter.enter(connection, isLoopback(ip)))
      connection.refuse('[SYS/TEMP] There are too many connections. Retry later.');
    else void connection.run();
  };

  return {
    certificate,
    async start(): Promise<{ port: number }> {
      return { port: await server.listen(config.pop3Port ?? 0, accept) };
    },
    /** Waits up to `graceMs` for replies in progress. May be called twice, and before `start`. */
    stop(graceMs: number): Promise<void> {
      stopping.abort();
      return server.stop(graceMs);
    },
  };
}
