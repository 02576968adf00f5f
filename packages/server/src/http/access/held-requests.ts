import type { FastifyReply } from 'fastify';
import { type Clock, repeat } from '../../clock.ts';
import { AppError } from '../../errors.ts';
import type { Logger } from '../../log.ts';
import type { Store } from '../../store/contract/index.ts';
import { MAX_HELD_PER_ACCOUNT } from '../limits.ts';
import { unknownCredential } from './credential.ts';
import type { Guard } from './guard.ts';

/** A revoked key ends the requests that it holds open within a second. */
const RECHECK_EVERY_MS = 500;

/** Requests whose response is held: they end at once when their client disconnects or the server stops. */
export interface HeldRequests {
  /**
   * Runs `work` with a signal that aborts when the client disconnects, its credential is revoked, or the server
   * stops; the reason of the signal is the error of the response.
   * @throws AppError `rate_limited` when the account holds as many as it may, before `work` is called;
   *   `unauthorized` when the credential was revoked meanwhile; what `work` throws
   */
  hold<T>(reply: FastifyReply, work: (signal: AbortSignal) => Promise<T>): Promise<T>;
  /** Ends those whose API key or session was revoked, and those of read tokens whose account is deleted. */
  recheck(): Promise<void>;
  /** How many are held now. */
  readonly count: number;
  /** Ends all that are held, and from now on holds none. */
  release(): void;
  /** True after {@link release}. */
  readonly released: boolean;
}

interface Held {
  controller: AbortController;
  /** Null for a request without a credential, such as that of a preview link: nothing of it can be revoked. */
  accountId: string | null;
  /** What a request with an API key came with, its header or its session; null for a read token. */
  credential: string | null;
  isSession: boolean;
  isRevoked: boolean;
}

/** Counts the held requests of each account. */
function createPlaces() {
  const byAccount = new Map<string, number>();
  return {
    /** @throws AppError `rate_limited` */
    enter(accountId: string): void {
      const count = byAccount.get(accountId) ?? 0;
      if (count >= MAX_HELD_PER_ACCOUNT) {
        throw new AppError(
          'rate_limited',
          `The account has ${MAX_HELD_PER_ACCOUNT} waits and streams open, the limit on this server. End one, or retry after 1 second.`,
          { retryAfterSeconds: 1 },
        );
      }
      byAccount.set(accountId, count + 1);
    },
    leave(accountId: string): void {
      const count = byAccount.get(accountId) ?? 0;
      if (count > 1) byAccount.set(accountId, count - 1);
      else byAccount.delete(accountId);
    },
  };
}

/** @param deps read at each use: the description of the API is built without a store */
export function createHeldRequests(
  guard: Pick<Guard, 'check'>,
  deps: { store: Pick<Store, 'accounts'> },
): HeldRequests {
  const held = new Set<Held>();
  const places = createPlaces();
  let released = false;

  const isGood = async (credential: string, isSession: boolean): Promise<boolean> => {
    try {
      const given = isSession
        ? { authorization: undefined, session: credential }
        : { authorization: credential };
      await guard.check({ ...given, access: 'account:read', inboxId: undefined });
      return true;
    } catch (error) {
      if (error instanceof AppError && error.code === 'unauthorized') return false;
      throw error;
    }
  };

  const revoke = (all: Held[]): void => {
    for (const one of all) {
      one.isRevoked = true;
      one.controller.abort(unknownCredential());
    }
  };

  return {
    async hold(reply, work) {
      const { caller, headers, session } = reply.request;
      const accountId = caller?.account.id ?? null;
      if (accountId !== null) places.enter(accountId);
      const controller = new AbortController();
      const isSession = headers.authorization === undefined;
      const credential = caller?.key ? (headers.authorization ?? session ?? null) : null;
      const one: Held = { controller, accountId, credential, isSession, isRevoked: false };
      const end = () => controller.abort(clientGone());
      if (released) controller.abort(serverStopping());
      held.add(one);
      reply.raw.once('close', end);
      try {
        const result = await work(controller.signal);
        if (one.isRevoked) throw unknownCredential();
        return result;
      } finally {
        held.delete(one);
        if (accountId !== null) places.leave(accountId);
        reply.raw.off('close', end);
      }
    },
    async recheck() {
      const byKey = Map.groupBy(held, ({ credential }) => credential);
      // Tokens are too many to check each. The end of their inbox is published as an event, that of an account is not.
      const byToken = Map.groupBy(byKey.get(null) ?? [], ({ accountId }) => accountId);
      byKey.delete(null);
      for (const [credential, all] of byKey) {
        const isSession = all[0]?.isSession ?? false;
        if (credential !== null && !(await isGood(credential, isSession))) revoke(all);
      }
      for (const [accountId, all] of byToken) {
        if (accountId !== null && !(await deps.store.accounts.find(accountId))) revoke(all);
      }
    },
    release() {
      released = true;
      for (const { controller } of held) controller.abort(serverStopping());
    },
    get count() {
      return held.size;
    },
    get released() {
      return released;
    },
  };
}

/** Never received: the client has disconnected. */
const clientGone = (): AppError =>
  new AppError('unavailable', 'The client disconnected before the response.');

/** The error of requests that are held when the server stops. */
const serverStopping = (): AppError =>
  new AppError('server_stopping', 'The server is stopping. Repeat the request after 1 second.', {
    retryAfterSeconds: 1,
  });

/** Checks the credentials of held requests every half second, until the signal aborts. */
export function recheckUntil(
  signal: AbortSignal,
  { recheck, clock, log }: { recheck(): Promise<void>; clock: Clock; log: Logger },
): Promise<void> {
  // While the storage is down no credential can be checked; the next round tries again.
  return repeat(clock, RECHECK_EVERY_MS, signal, () =>
    recheck().catch((err) => log.warn({ err }, 'The keys of held requests could not be checked')),
  );
}
