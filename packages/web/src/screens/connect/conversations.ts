import type { api } from '@mayfly/client';
import { useEffect, useRef, useState } from 'preact/hooks';
import { onArrivals } from '../../lib/arrivals.ts';
import { quota } from '../../lib/quota.ts';
import { mayfly } from '../../lib/session.ts';
import { serverNow } from '../../lib/time.ts';

/** The result of an SMTP delivery, or a client that sent no mail. */
export type Conversation = { id: string; at: string } & (
  | { kind: 'accepted'; message: api.MessageSummary }
  | { kind: 'refused'; refusal: api.RefusedMail }
  | { kind: 'handshake'; failure: api.FailedHandshake }
);

/** Also show what happened shortly before the page was opened, because that may be why it was opened. */
const BEFORE_MS = 10 * 60_000;
const PAUSE_MS = 2_000;
/** Polling interval of accounts with a quota. */
const QUOTA_PAUSE_MS = 15_000;
/** Polling interval after some minutes without activity. */
const IDLE_PAUSE_MS = 60_000;
const IDLE_AFTER_MS = 5 * 60_000;
const MAX_SHOWN = 50;

export interface Conversations {
  /** Newest first. */
  all: readonly Conversation[];
  /** The server's explanation while nothing has arrived, such as that no client has connected; '' until it responds. */
  guess: string;
}

const accepted = (message: api.MessageSummary): Conversation => ({
  ...{ kind: 'accepted', id: message.id, at: message.receivedAt },
  message,
});

/** Fetches refusals, and failures that name no recipient, with the server's explanation for the inbox. */
async function ask(since: string, inboxId: string | undefined, signal: AbortSignal) {
  const [{ refusals }, waited] = await Promise.all([
    mayfly.call('GET /v1/refusals', { query: { since, limit: MAX_SHOWN }, signal }),
    inboxId === undefined
      ? undefined
      : mayfly.call('POST /v1/inboxes/{id}/wait', {
          path: { id: inboxId },
          body: { since, timeoutSeconds: 0 },
          signal,
        }),
  ]);
  const { failedHandshakes = [], causes = [] } = waited?.explanation ?? {};
  const guess = causes.find(({ code }) => GUESSES.includes(code))?.text ?? '';
  const found: Conversation[] = [
    ...refusals.map((refusal): Conversation => {
      const id = `${refusal.at}${refusal.address}${refusal.reply}`;
      return { kind: 'refused', id, at: refusal.at, refusal };
    }),
    ...failedHandshakes.map(
      (failure): Conversation => ({
        ...{ kind: 'handshake', id: `${failure.at}${failure.reason}`, at: failure.at },
        failure,
      }),
    ),
  ];
  return { found, guess };
}

const GUESSES: readonly string[] = ['left_without_recipient', 'nothing_connected'];

/**
 * Accepted and rejected mail, while the component is shown. Refusals are not in the stream, so they are
 * polled: rarely if requests count against a quota, and never while the page is hidden.
 */
export function useConversations(inboxId: string | undefined): Conversations {
  const [shown, setShown] = useState<Conversations>({ all: [], guess: '' });
  const since = useRef(new Date(serverNow() - BEFORE_MS).toISOString());
  useEffect(() => {
    const controller = new AbortController();
    const { signal } = controller;
    let lastAt = Date.now();
    let timer: ReturnType<typeof setTimeout> | undefined;
    const add = (found: readonly Conversation[], guess?: string) =>
      setShown((old) => {
        const known = new Set(old.all.map(({ id }) => id));
        const fresh = found.filter(({ id }) => !known.has(id));
        if (fresh.length > 0) lastAt = Date.now();
        if (fresh.length === 0 && (guess === undefined || guess === old.guess)) return old;
        const all = [...fresh, ...old.all].sort((a, b) => (a.at < b.at ? 1 : -1)).slice(0, MAX_SHOWN);
        return { all, guess: guess ?? old.guess };
      });
    const look = async () => {
      if (!document.hidden) {
        // The connection state already shows a failure.
        const seen = await ask(since.current, inboxId, signal).catch(() => undefined);
        if (signal.aborted) return;
        if (seen) add(seen.found, seen.guess);
      }
      const isIdle = Date.now() - lastAt > IDLE_AFTER_MS;
      timer = setTimeout(look, isIdle ? IDLE_PAUSE_MS : quota.value ? QUOTA_PAUSE_MS : PAUSE_MS);
    };
    void look();
    mayfly.call('GET /v1/messages', { query: { since: since.current, limit: 10 }, signal }).then(
      ({ messages }) => add(messages.map(accepted)),
      () => undefined,
    );
    const end = onArrivals((arrivals) => add(arrivals.map(({ message }) => accepted(message))));
    return () => {
      clearTimeout(timer);
      controller.abort();
      end();
    };
  }, [inboxId]);
  return shown;
}
