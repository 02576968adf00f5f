import type { FastifyReply } from 'fastify';
import { AppError } from '../../errors.ts';
import type { Store } from '../../store.ts';
import { MAX_HELD_PER_ACCOUNT } from '../limits.ts';
import { unknownCredential } from './credential.ts';
import type { Asking, Guard } from './guard.ts';

interface Held {
  controller: AbortController;
  /** Null for a preview link, which has no credential. */
  accountId: string | null;
  asking: Pick<Asking, 'authorization' | 'session'> | null;
}

/** Requests that stay open for long: waits and streams. */
export class HeldRequests {
  readonly #guard: Pick<Guard, 'check'>;
  readonly #deps: { store: Pick<Store, 'accounts'> };
  readonly #held = new Set<Held>();
  readonly #byAccount = new Map<string, number>();
  isReleased = false;

  constructor(guard: Pick<Guard, 'check'>, deps: { store: Pick<Store, 'accounts'> }) {
    this.#guard = guard;
    this.#deps = deps;
  }

  get count(): number {
    return this.#held.size;
  }

  /** @param work its signal aborts when the client disconnects, its key is revoked or the server stops */
  async hold<T>(reply: FastifyReply, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const { caller, headers, session } = reply.request;
    const accountId = caller?.account.id ?? null;
    if (accountId !== null) this.#enter(accountId);
    const controller = new AbortController();
    const asking = caller?.key ? { authorization: headers.authorization, session } : null;
    const one: Held = { controller, accountId, asking };
    const end = () =>
      controller.abort(new AppError('unavailable', 'The client disconnected before the response.'));
    if (this.isReleased) controller.abort(serverStopping());
    this.#held.add(one);
    reply.raw.once('close', end);
    try {
      const result = await work(controller.signal);
      if (isUnauthorized(controller.signal.reason)) throw controller.signal.reason;
      return result;
    } finally {
      this.#held.delete(one);
      if (accountId !== null) this.#leave(accountId);
      reply.raw.off('close', end);
    }
  }

  /** Ends requests whose API key or session was revoked, and those with read tokens of deleted accounts. */
  async recheck(): Promise<void> {
    const groups = Map.groupBy(
      this.#held,
      ({ asking, accountId }) => asking?.authorization ?? asking?.session ?? accountId,
    );
    for (const all of groups.values()) {
      const [first] = all;
      if (!first || (await this.#isGood(first))) continue;
      for (const { controller } of all) controller.abort(unknownCredential());
    }
  }

  release(): void {
    this.isReleased = true;
    for (const { controller } of this.#held) controller.abort(serverStopping());
  }

  #enter(accountId: string): void {
    const count = this.#byAccount.get(accountId) ?? 0;
    if (count >= MAX_HELD_PER_ACCOUNT) {
      throw new AppError(
        'rate_limited',
        `The account has ${MAX_HELD_PER_ACCOUNT} waits and streams open, the limit on this server. End one, or retry after 1 second.`,
        { retryAfterSeconds: 1 },
      );
    }
    this.#byAccount.set(accountId, count + 1);
  }

  #leave(accountId: string): void {
    const count = this.#byAccount.get(accountId) ?? 0;
    if (count > 1) this.#byAccount.set(accountId, count - 1);
    else this.#byAccount.delete(accountId);
  }

  async #isGood({ asking, accountId }: Held): Promise<boolean> {
    // A request with a read token ends by an event when its inbox ends, so only its account is checked.
    if (!asking) return accountId === null || (await this.#deps.store.accounts.find(accountId)) !== undefined;
    try {
      await this.#guard.check({ ...asking, access: 'account:read', inboxId: undefined });
      return true;
    } catch (error) {
      if (isUnauthorized(error)) return false;
      throw error;
    }
  }
}

const isUnauthorized = (error: unknown): boolean =>
  error instanceof AppError && error.code === 'unauthorized';

const serverStopping = (): AppError =>
  new AppError('server_stopping', 'The server is stopping. Repeat the request after 1 second.', {
    retryAfterSeconds: 1,
  });
