import type { ComponentChildren, ComponentType } from 'preact';
import { useEffect, useErrorBoundary, useLayoutEffect } from 'preact/hooks';
import { href, match, navigate, path, query, url } from './lib/router.ts';
import { loadSession, session, sessionError } from './lib/session.ts';
import { showTitle } from './lib/title.ts';
import { Inbox } from './screens/inbox/inbox.tsx';
import { Live } from './screens/live.tsx';
import { Shell } from './shell.tsx';
import { later } from './ui/later.tsx';
import { Broken, Failure, Loading, Notice } from './ui/states.tsx';

// biome-ignore lint/suspicious/noExplicitAny: each screen has parameters of its own, read from its path.
type Screen = ComponentType<any>;

const signIn = () => import('./screens/sign-in.tsx');
const SignIn = later(async () => (await signIn()).SignIn);
const Open = later(async () => (await signIn()).Open);
const webhooks = () => import('./screens/webhooks/webhooks.tsx');
/** Screens by path. Those that most visits do not need are loaded when they are opened. */
const ROUTES: [pattern: string, screen: Screen, title: string][] = [
  ['/inboxes', later(async () => (await import('./screens/inboxes/inboxes.tsx')).Inboxes), 'Inboxes'],
  ['/inboxes/:id', Inbox, 'Inbox'],
  ['/inboxes/:id/messages/:messageId', Inbox, 'Message'],
  ['/inboxes/:id/why', later(async () => (await import('./screens/why/why.tsx')).Why), 'Why nothing came'],
  [
    '/inboxes/:id/sent',
    later(async () => (await import('./screens/inbox/sent.tsx')).Sent),
    'Replies and bounces',
  ],
  ['/why', later(async () => (await import('./screens/why/address.tsx')).WhyAddress), 'Why nothing came'],
  ['/runs', later(async () => (await import('./screens/runs/runs.tsx')).Runs), 'Test runs'],
  ['/live', Live, 'Live'],
  ['/connect', later(async () => (await import('./screens/connect/listen.tsx')).Listen), 'Connect'],
  ['/webhooks', later(async () => (await webhooks()).Webhooks), 'Webhooks'],
  ['/webhooks/:id', later(async () => (await import('./screens/webhooks/webhook.tsx')).Webhook), 'Webhook'],
  [
    '/webhooks/:id/deliveries/:deliveryId',
    later(async () => (await import('./screens/webhooks/webhook.tsx')).Webhook),
    'Delivery',
  ],
  ['/keys', later(async () => (await import('./screens/keys.tsx')).Keys), 'API keys'],
  ['/usage', later(async () => (await import('./screens/usage.tsx')).Usage), 'Usage'],
  ['/domains', later(async () => (await import('./screens/domains.tsx')).Domains), 'Domains'],
];

function find(
  at: string,
): { pattern: string; Screen: Screen; title: string; params: Record<string, string> } | null {
  for (const [pattern, Screen, title] of ROUTES) {
    const params = match(pattern, at);
    if (params) return { pattern, Screen, title, params };
  }
  return null;
}

const NotFound = () => (
  <Notice icon="question" title="There is no such screen" isScreen>
    <p>
      <a href={href('/inboxes')}>Show all inboxes</a>
    </p>
  </Notice>
);

/** Shows what failed in place of a screen that throws, and keeps the rest of the page. */
function Guarded({ children }: { children: ComponentChildren }) {
  const [error] = useErrorBoundary(reportError);
  if (error === undefined) return children;
  return <Broken title="This screen has failed" detail={String(error)} />;
}

/** The screen of the address, or the sign-in screen, which comes back to it. */
export function App() {
  const at = path.value;
  const who = session.value;
  const found = find(at);
  const title = found?.title ?? 'Mayfly';
  // Before the effects of the screen, which may know a better title.
  useLayoutEffect(() => showTitle(title), [title, at]);
  // A read token sees its inbox only.
  const home = who?.inbox ? `/inboxes/${who.inbox.id}` : '/live';
  const isElsewhere = who?.inbox ? !at.startsWith(home) : at === '/';
  useEffect(() => {
    if (who === null && !['/sign-in', '/open'].includes(at)) {
      navigate(href('/sign-in', { next: at === '/' ? null : `${at}${url.value.search}` }), { replace: true });
    }
    if (!who || at === '/open') return;
    if (at === '/sign-in') navigate(nextAddress() ?? href(home), { replace: true });
    else if (isElsewhere) navigate(href(home), { replace: true });
  }, [who, at]);

  if (at === '/open') return <Open />;
  if (who === undefined) {
    return sessionError.value === undefined ? (
      <Loading />
    ) : (
      <main>
        <Failure error={sessionError.value} retry={() => void loadSession()} isScreen />
      </main>
    );
  }
  if (who === null || at === '/sign-in') return <SignIn />;
  const { Screen = NotFound, params = {} } = found ?? {};
  // Inbox and message are one screen: its list stays when a message is opened.
  const name = Screen === Inbox ? `inbox ${params.id}` : at;
  // Another tab may have signed in with another account: nothing of the former one stays.
  const owner = who.account?.id ?? who.inbox?.id;
  return (
    <Shell at={at} key={owner}>
      <Guarded key={name}>
        <Screen {...params} />
      </Guarded>
    </Shell>
  );
}

/** Where the sign-in screen returns to; only places of the console. */
function nextAddress(): string | null {
  const next = query.value.get('next');
  return next?.startsWith('/') && !next.startsWith('//') ? `/console${next}` : null;
}
