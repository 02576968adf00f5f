import type { FastifyReply } from 'fastify';

/** Requests whose answer is held back, so that a stop, or their client's leaving, ends them at once. */
export interface HeldRequests {
  /** Runs `work` with a signal that aborts when the client goes away or the server stops. */
  hold<T>(reply: FastifyReply, work: (signal: AbortSignal) => Promise<T>): Promise<T>;
  /** Ends all that are held, and from now on holds none. */
  release(): void;
  /** True after {@link release}. */
  readonly released: boolean;
}

export function createHeldRequests(): HeldRequests {
  const held = new Set<AbortController>();
  let released = false;
  return {
    async hold(reply, work) {
      const controller = new AbortController();
      const end = () => controller.abort();
      if (released) end();
      held.add(controller);
      reply.raw.once('close', end);
      try {
        return await work(controller.signal);
      } finally {
        held.delete(controller);
        reply.raw.off('close', end);
      }
    },
    release() {
      released = true;
      for (const controller of held) controller.abort();
    },
    get released() {
      return released;
    },
  };
}
