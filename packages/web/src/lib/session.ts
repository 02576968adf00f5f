import { ConnectionError, Operations } from '@mayfly/client/console';
import { computed, signal } from '@preact/signals';
import { noteQuota, quota } from './quota.ts';
import { noteTime, now, serverNow } from './time.ts';

/** The signed-in user, and the server's properties that the console needs. */
export interface Session {
  /** `full` and `read` are scopes of an API key; `inbox` is a read token, which sees one inbox. */
  scope: 'full' | 'read' | 'inbox';
  account: { id: string; name: string; plan: string } | null;
  key: { id: string; name: string; expiresAt: string | null } | null;
  inbox: { id: string; address: string } | null;
  server: {
    version: string;
    domains: string[];
    smtp: { host: string; port: number; tlsPort: number | null } | null;
    sink: boolean;
  };
}

/** Undefined until it is known; null if nobody is signed in. */
export const session = signal<Session | null | undefined>(undefined);
/** Error of the request for the session. */
export const sessionError = signal<unknown>(undefined);
/** Why the session ended; '' after signing out here. */
export const endedBecause = signal('');
/** Whether actions are shown: not for a read-only key. */
export const mayWrite = computed(() => session.value?.scope === 'full');

/**
 * `fetch` for all requests to the API. A 401 ends the session in this page: the session expired, or its key was
 * revoked. A deletion is sent even when the page is closed meanwhile.
 */
const watchedFetch: typeof fetch = async (input, init) => {
  const response = await fetch(input, { ...init, ...(init?.method === 'DELETE' && { keepalive: true }) });
  noteQuota(response);
  noteTime(response);
  if (response.status === 401) {
    const problem = (await response
      .clone()
      .json()
      .catch(() => null)) as { detail?: string } | null;
    if (session.value) endedBecause.value = problem?.detail ?? 'The session has ended.';
    void loadSession();
  }
  return response;
};

/** The API client, authenticated by the session cookie; the console never stores a key. */
export const mayfly = new Operations({
  url: location.origin,
  session: true,
  retries: 1,
  fetch: watchedFetch,
});

const SESSION = '/console/session';

/** Signing in failed, with the server's message. */
class SignInError extends Error {}

/** Calls a route of the console itself, which is not part of the API. */
async function ask(method: string, path: string, init: RequestInit = {}): Promise<Response> {
  const response = await fetch(path, { method, credentials: 'same-origin', ...init }).catch(() => {
    throw new SignInError('The server did not respond. Check that Mayfly is running.');
  });
  if (response.ok) return response;
  const problem = (await response.json().catch(() => null)) as { detail?: string } | null;
  throw new SignInError(problem?.detail ?? `The server responded with ${response.status}.`);
}

/** Loads the session. If the server does not respond, the current session is kept. */
export async function loadSession(): Promise<void> {
  sessionError.value = undefined;
  try {
    const response = await fetch(SESSION, { credentials: 'same-origin' });
    noteTime(response);
    now.value = serverNow();
    if (response.ok) session.value = (await response.json()) as Session;
    else if (response.status === 401) session.value = null;
    else throw new Error(`The server responded with ${response.status}.`);
  } catch (cause) {
    sessionError.value = new ConnectionError(location.origin, 1, cause);
  }
}

/** All tabs of a browser share the cookie: when one signs in or out, the others follow. */
const tabs = new BroadcastChannel('mayfly session');
tabs.onmessage = ({ data }: MessageEvent<'in' | 'out'>) => {
  if (data === 'out') endedBecause.value = 'You signed out in another tab.';
  void loadSession();
};

async function afterSignIn(): Promise<void> {
  await loadSession();
  tabs.postMessage('in');
  endedBecause.value = '';
  if (session.value) return;
  throw new SignInError(
    'The browser did not keep the cookie of the session. Over plain HTTP that works on localhost only: use HTTPS, or open the console on the machine where Mayfly runs.',
  );
}

/** @param credential an API key or a read token @throws SignInError */
export async function signIn(credential: string): Promise<void> {
  await ask('POST', SESSION, { headers: { authorization: `Bearer ${credential}` } });
  await afterSignIn();
}

/** @param code of a sign-in link @throws SignInError */
export async function signInByCode(code: string): Promise<void> {
  await ask('POST', `${SESSION}/code`, {
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ code }),
  });
  await afterSignIn();
}

export async function signOut(): Promise<void> {
  await ask('DELETE', SESSION).catch(() => undefined);
  session.value = null;
  quota.value = null;
  endedBecause.value = '';
  tabs.postMessage('out');
}
