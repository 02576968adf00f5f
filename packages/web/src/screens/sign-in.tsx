import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import icon from '../icon.svg';
import { href, navigate } from '../lib/router.ts';
import { endedBecause, session, signIn, signInByCode } from '../lib/session.ts';
import { showTitle } from '../lib/title.ts';
import { Button, Field } from '../ui/basics.tsx';

/** Signing in with an API key or a read token, which the page forgets at once. */
export function SignIn({ problem: first = '' }: { problem?: string }) {
  const [problem, setProblem] = useState(first);
  const [isBusy, setBusy] = useState(false);
  const input = useRef<HTMLInputElement>(null);
  useLayoutEffect(() => {
    showTitle('Sign in');
    input.current?.focus();
  }, []);
  const submit = async (event: SubmitEvent) => {
    event.preventDefault();
    const credential = input.current?.value.trim() ?? '';
    if (!credential) return;
    setBusy(true);
    try {
      await signIn(credential);
    } catch (error) {
      setProblem(error instanceof Error ? error.message : String(error));
      input.current?.select();
    } finally {
      setBusy(false);
    }
  };
  return (
    <main class="sign-in">
      <form onSubmit={submit} aria-label="Sign in">
        <div class="brand">
          <img src={icon} alt="" />
          <h1>Mayfly</h1>
        </div>
        <p class="muted">
          Disposable inboxes for tests, on <b>{location.host}</b>, version {__VERSION__}. See every mail that
          arrived, and why one did not.
        </p>
        {endedBecause.value && (
          <p class="banner" role="status">
            <span>
              <b>You were signed out.</b> {endedBecause.value}
            </span>
          </p>
        )}
        <Field
          label="API key or read token"
          error={problem}
          hint="mfk_… of an account, or mft_… of one inbox; on the machine of “npm start” also “dev”. “npx mayfly key create” makes another."
        >
          <input
            ref={input}
            type="password"
            name="credential"
            autocomplete="current-password"
            spellcheck={false}
            required
          />
        </Field>
        <Button kind="primary" type="submit" disabled={isBusy}>
          Sign in
        </Button>
        <p class="small muted">
          The key is exchanged for a cookie that scripts cannot read. <a href="/docs">API reference</a>
        </p>
      </form>
    </main>
  );
}

/** Opens a link such as `/console/open#mft_…`: what signs in is in the fragment, which is sent to no server. */
export function Open() {
  const [problem, setProblem] = useState('');
  useEffect(() => {
    const secret = location.hash.slice(1);
    history.replaceState(null, '', location.pathname);
    const opened = secret.startsWith('mfs_') ? signInByCode(secret) : signIn(secret);
    opened.then(
      () => {
        navigate(href('/'), { replace: true });
      },
      (error) => {
        // The link was used before, in this browser: who is signed in stays so.
        if (session.value) navigate(href('/'), { replace: true });
        else setProblem(error instanceof Error ? error.message : String(error));
      },
    );
  }, []);
  return problem ? <SignIn problem={problem} /> : null;
}
