import { Mayfly } from '@mayfly/client';
import { computed, signal } from '@preact/signals';
import { fetchAndNoteQuota, quota } from './quota.ts';

/** Who is signed in, and what the console needs to know of the server. */
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

/** Undefined until it is known, null while nobody is signed in. */
export const session = signal<Session | null | undefined>(undefined);
/** True where verbs are shown: a key that only reads sees none. */
export const mayWrite = computed(() => session.value?.scope === 'full');

/** The API with the session's cookie; the console never holds a key. */
export const mayfly = new Mayfly({
  url: location.origin,
  session: true,
  retries: 1,
  fetch: fetchAndNoteQuota,
});

const SESSION = '/console/session';

/** Why signing in failed, in the words of the server. */
class SignInError extends Error {}

/** Routes of the console itself, which are not part of the API. */
async function ask(method: string, path: string, init: RequestInit = {}): Promise<Response> {
  const response = await fetch(path, { method, credentials: 'same-origin', ...init }).catch(() => {
    throw new SignInError('The server did not respond. Check that Mayfly is running.');
  });
  if (response.ok) return response;
  const problem = (await response.json().catch(() => null)) as { detail?: string } | null;
  throw new SignInError(problem?.detail ?? `The server responded with ${response.status}.`);
}

/** Finds out who is signed in. */
export async function loadSession(): Promise<void> {
  const response = await fetch(SESSION, { credentials: 'same-origin' }).catch(() => null);
  session.value = response?.ok ? ((await response.json()) as Session) : null;
}

async function afterSignIn(): Promise<void> {
  await loadSession();
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
}
