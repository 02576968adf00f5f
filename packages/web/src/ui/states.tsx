import { ApiError, ConnectionError } from '@mayfly/client/console';
import type { ComponentChildren } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { openings } from '../lib/arrivals.ts';
import { stale } from '../lib/live.ts';
import { isGone } from '../lib/query.ts';
import { href } from '../lib/router.ts';
import { duration, exact, now, serverNow } from '../lib/time.ts';
import { Button, CopyButton } from './basics.tsx';
import { Icon, type IconName } from './icons.tsx';

/** A load that is quicker shows nothing, so that the page does not flash. */
const SLOW_MS = 150;

/** Grey lines in the place of what is being loaded. */
export function Loading({ rows = 5, isScreen }: { rows?: number; isScreen?: boolean | undefined }) {
  const [isSlow, setSlow] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setSlow(true), SLOW_MS);
    return () => clearTimeout(timer);
  }, []);
  return (
    <div class={`skeleton ${isSlow ? 'shown' : ''}`} role="status">
      {isScreen ? <h1 class="visually-hidden">Loading</h1> : <span class="visually-hidden">Loading</span>}
      {Array.from({ length: rows }, (_, index) => (
        <i key={index} />
      ))}
    </div>
  );
}

interface NoticeProps {
  icon: IconName;
  title: string;
  kind?: 'bad';
  /** True where nothing else on the screen is its heading. */
  isScreen?: boolean | undefined;
  children?: ComponentChildren;
}

/** A state that fills the place of a list: what is the case and what to do next. */
export const Notice = ({ icon, title, kind, isScreen, children }: NoticeProps) => (
  <section class={`notice ${kind ?? ''}`} role={kind ? 'alert' : undefined}>
    <span class="notice-icon">
      <Icon name={icon} />
    </span>
    {isScreen ? <h1>{title}</h1> : <h2>{title}</h2>}
    {children}
  </section>
);

const Gone = ({ error, isScreen }: { error: ApiError; isScreen?: boolean | undefined }) => {
  const at = error.problem?.expiredAt;
  return (
    <Notice
      icon="clock"
      title={at ? 'This inbox has expired' : 'There is nothing here'}
      kind="bad"
      isScreen={isScreen}
    >
      <p>{error.problem?.detail}</p>
      {at && <p class="muted">It expired on {exact(at)}. Its messages can no longer be read.</p>}
      <p>
        <a href={href('/inboxes')}>Show all inboxes</a> ·{' '}
        <a href={href('/runs')}>Show what failed in a test run</a>
      </p>
    </Notice>
  );
};

/** A 429 with a countdown; when it is over the request is sent again. */
function Limited({ error, retry, isScreen }: FailureProps & { error: ApiError }) {
  const [until] = useState(() => serverNow() + (error.retryAfter ?? 1_000));
  const left = Math.max(0, until - now.value);
  const isQuota = error.code === 'quota_exceeded';
  useEffect(() => {
    if (isQuota) return;
    const timer = setTimeout(retry, error.retryAfter ?? 1_000);
    return () => clearTimeout(timer);
  }, [error]);
  return (
    <Notice
      icon="clock"
      title={isQuota ? 'The quota of this month is used up' : 'Too many requests'}
      kind="bad"
      isScreen={isScreen}
    >
      <p>{error.problem?.detail}</p>
      <p class="muted">
        {isQuota ? <a href={href('/usage')}>Show the usage</a> : `Trying again in ${duration(left)}.`}
      </p>
    </Notice>
  );
}

interface FailureProps {
  error: unknown;
  retry: () => void;
  isScreen?: boolean | undefined;
}

/** Why a request failed, in the words of the API, and a button that repeats it. */
export function Failure({ error, retry, isScreen }: FailureProps) {
  if (isGone(error)) return <Gone error={error} isScreen={isScreen} />;
  if (error instanceof ApiError && error.status === 429)
    return <Limited error={error} retry={retry} isScreen={isScreen} />;
  const problem = error instanceof ApiError ? error.problem : undefined;
  const isOffline = error instanceof ConnectionError;
  const title = isOffline ? 'The server does not respond' : (problem?.title ?? 'This could not be loaded');
  const detail = isOffline
    ? 'Check that Mayfly is running and that this machine is connected.'
    : (problem?.detail ?? (error instanceof Error ? error.message : String(error)));
  return (
    <Notice icon="warn" title={title} kind="bad" isScreen={isScreen}>
      <p>{detail}</p>
      {problem && (
        <p class="muted">
          <code>{problem.code}</code> · request <code>{problem.requestId}</code>{' '}
          <CopyButton value={`${problem.code} ${problem.requestId}: ${problem.detail}`} what="the error" />
        </p>
      )}
      <Button icon="refresh" onClick={retry}>
        Try again
      </Button>
      {isOffline && <RetryOnline retry={retry} />}
    </Notice>
  );
}

/** Repeats a request when the stream of new mail has begun again: the server responds. */
function RetryOnline({ retry }: { retry: () => void }) {
  const opened = openings.value;
  const before = useRef(opened);
  useEffect(() => {
    if (opened === before.current) return;
    before.current = opened;
    retry();
  }, [opened]);
  return null;
}

interface LoadedProps<T> {
  query: { data: T | undefined; error: unknown; isLoading: boolean; reload(): void };
  rows?: number;
  /** True where the result has the heading of the screen. */
  isScreen?: boolean;
  children: (data: T) => ComponentChildren;
}

/** Shows the result of a request, or the state that it is in. */
export function Loaded<T>({ query, rows, isScreen, children }: LoadedProps<T>) {
  const { data, error, reload } = query;
  if (data === undefined || isGone(error)) {
    return error === undefined ? (
      <Loading isScreen={isScreen} {...(rows && { rows })} />
    ) : (
      <Failure error={error} retry={reload} isScreen={isScreen} />
    );
  }
  return (
    <>
      {error !== undefined && <Stale retry={reload} />}
      {children(data)}
    </>
  );
}

/** What stands in the place of a screen that failed: the page is loaded anew, with the scripts of the server of now. */
export const Broken = ({ title, detail }: { title: string; detail: string }) => (
  <Notice icon="warn" title={title} kind="bad" isScreen>
    <p>{detail}</p>
    <Button icon="refresh" onClick={() => location.reload()}>
      Load the page again
    </Button>
  </Notice>
);

/** Above a result that could not be loaded anew. */
export function Stale({ retry }: { retry: () => void }) {
  useEffect(() => {
    stale.value += 1;
    return () => {
      stale.value -= 1;
    };
  }, []);
  return (
    <div class="banner" role="status">
      <Icon name="warn" /> This may be out of date: the last request failed.
      <Button kind="quiet" onClick={retry}>
        Try again
      </Button>
    </div>
  );
}
