import { ApiError } from '@mayfly/client/console';
import { useEffect, useRef, useState } from 'preact/hooks';

/** A request and its result. The previous result stays while the request is repeated. */
export interface Query<T> {
  data: T | undefined;
  error: unknown;
  isLoading: boolean;
  reload(): void;
  /** Replaces the result after a change, with data from another response. */
  set(data: T): void;
}

/** True when what was requested no longer exists: it expired or was deleted. */
export const isGone = (error: unknown): error is ApiError =>
  error instanceof ApiError && (error.status === 404 || error.status === 410);

/**
 * Runs a request, and repeats it when `key` changes. @param key identifies the request; a new key discards
 * the previous result
 */
export function useQuery<T>(key: string, request: (signal: AbortSignal) => Promise<T>): Query<T> {
  const [state, setState] = useState<{ key: string; data?: T; error?: unknown }>({ key });
  const [round, setRound] = useState(0);
  const latest = useRef(request);
  latest.current = request;
  const [done, setDone] = useState('');
  const run = `${key}#${round}`;
  useEffect(() => {
    const controller = new AbortController();
    const { signal } = controller;
    latest.current(signal).then(
      (data) => {
        if (signal.aborted) return;
        setState({ key, data });
        setDone(run);
      },
      (error) => {
        if (signal.aborted) return;
        setState((old) => ({ key, error, ...(old.key === key && 'data' in old && { data: old.data as T }) }));
        setDone(run);
      },
    );
    return () => controller.abort();
  }, [run, key]);
  const current = state.key === key ? state : { key };
  return {
    data: current.data,
    error: current.error,
    isLoading: done !== run,
    reload: () => setRound((n) => n + 1),
    set: (data) => setState({ key, data }),
  };
}
