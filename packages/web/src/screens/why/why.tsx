import type { api } from '@mayfly/client';
import { useEffect, useRef } from 'preact/hooks';
import { person, plural } from '../../lib/format.ts';
import { useQuery } from '../../lib/query.ts';
import { href, query, setQuery } from '../../lib/router.ts';
import { mayfly } from '../../lib/session.ts';
import { Ago, Badge, Button, Field, ScreenHead } from '../../ui/basics.tsx';
import { Icon } from '../../ui/icons.tsx';
import { Loaded } from '../../ui/states.tsx';
import { Letters, sentences } from './explanation.tsx';
import { Refusals } from './refusals.tsx';

/** Conditions of a wait that are entered as text. */
const CONDITIONS = ['from', 'to', 'subject', 'text'] as const;

function matchIn(search: URLSearchParams): api.MessageMatch {
  const match: api.MessageMatch = {};
  for (const name of CONDITIONS) {
    const value = search.get(name);
    if (value) match[name] = value;
  }
  if (search.get('code')) match.code = true;
  const link = search.get('link');
  if (link) match.link = { href: link };
  return match;
}

/** The conditions of a wait that was copied from a test; null for text that is none. */
function pasted(text: string): Record<string, string | null> | null {
  try {
    const wait = JSON.parse(text) as { match?: Record<string, unknown>; since?: string };
    const match = wait.match ?? (wait as Record<string, unknown>);
    const link = match.link as { href?: string } | undefined;
    return {
      ...Object.fromEntries(
        CONDITIONS.map((name) => [name, typeof match[name] === 'string' ? (match[name] as string) : null]),
      ),
      code: match.code ? '1' : null,
      link: link?.href ?? null,
      since: wait.since ?? null,
    };
  } catch {
    return null;
  }
}

function Conditions() {
  const search = query.value;
  const form = useRef<HTMLFormElement>(null);
  // The fields follow the address of the page; the focus stays where it is.
  const shown = search.toString();
  useEffect(() => form.current?.reset(), [shown]);
  const onSubmit = (event: SubmitEvent) => {
    event.preventDefault();
    const data = new FormData(event.currentTarget as HTMLFormElement);
    const changes = Object.fromEntries(
      [...CONDITIONS, 'link', 'since'].map((name) => [name, String(data.get(name) ?? '') || null]),
    );
    setQuery({ ...changes, code: data.get('code') ? '1' : null, at: String(Date.now()) });
  };
  return (
    <form
      class="panel"
      ref={form}
      onSubmit={onSubmit}
      onPaste={(event) => {
        const found = pasted(event.clipboardData?.getData('text') ?? '');
        if (!found) return;
        event.preventDefault();
        setQuery({ ...found, at: String(Date.now()) });
      }}
    >
      <h2>What the test waits for</h2>
      <div class="form-grid">
        {CONDITIONS.map((name) => (
          <Field key={name} label={name.charAt(0).toUpperCase() + name.slice(1)}>
            <input
              name={name}
              defaultValue={search.get(name) ?? ''}
              placeholder={{ from: 'no-reply@', to: 'ada+', subject: 'confirm', text: 'your code' }[name]}
            />
          </Field>
        ))}
        <Field label="Link contains">
          <input name="link" defaultValue={search.get('link') ?? ''} placeholder="/confirm" />
        </Field>
        <Field label="Since" hint="A cursor, a message id or a time">
          <input name="since" defaultValue={search.get('since') ?? ''} />
        </Field>
      </div>
      <div class="row-line wrap">
        <label class="row-line">
          <input type="checkbox" name="code" defaultChecked={search.has('code')} /> has a one-time code
        </label>
        <span class="small muted grow">Paste the JSON of a wait anywhere in this form.</span>
        <Button kind="primary" icon="refresh" type="submit">
          Look again
        </Button>
      </div>
    </form>
  );
}

const NAMES: Record<string, string> = { hasAttachments: 'attachments', rcptTo: 'recipient' };

const Seen = ({ inboxId, seen }: { inboxId: string; seen: api.SeenMessage }) => (
  <li class="seen">
    <div class="row-line">
      <a class="cut" href={href(`/inboxes/${inboxId}/messages/${seen.message.id}`)}>
        <b>{seen.message.subject || '(no subject)'}</b>{' '}
        <span class="muted">from {person(seen.message.from)}</span>
      </a>
      <Ago time={seen.message.receivedAt} />
    </div>
    <ul class="seen-failed">
      {seen.failed.map(({ condition, expected, got }) => (
        <li key={condition}>
          <b>{NAMES[condition] ?? condition}</b>: expected <code>{expected}</code>, got{' '}
          <code>{got || '(empty)'}</code>
        </li>
      ))}
    </ul>
  </li>
);

function Explanation({ inbox, result }: { inbox: api.Inbox; result: api.WaitResult }) {
  const { explanation, messages } = result;
  const [first] = messages;
  if (!explanation) {
    return (
      <section class="panel">
        <h2>
          <Icon name="check" /> It did come
        </h2>
        <p class="answer">
          {plural(messages.length, 'message')} in this inbox meets the conditions. If the test still failed,
          it waited with other conditions, an earlier timeout, or a later <code>since</code>.
        </p>
        {first && (
          <a href={href(`/inboxes/${inbox.id}/messages/${first.id}`)}>
            Open “{first.subject || '(no subject)'}”
          </a>
        )}
      </section>
    );
  }
  const { seen, refused, nearMisses, failedHandshakes } = explanation;
  return (
    <>
      <section class="panel" aria-live="polite">
        <h2>The answer</h2>
        {sentences(inbox, explanation).map((sentence) => (
          <p class="answer" key={sentence}>
            {sentence}
          </p>
        ))}
      </section>
      {seen.length > 0 && (
        <section>
          <h2>Messages that came and did not match ({explanation.seenCount})</h2>
          <ul>
            {seen.map((one) => (
              <Seen key={one.message.id} inboxId={inbox.id} seen={one} />
            ))}
          </ul>
        </section>
      )}
      {nearMisses.length > 0 && (
        <section>
          <h2>Mail for similar addresses</h2>
          <ul>
            {nearMisses.map((miss) => (
              <li class="seen" key={miss.address}>
                <div class="row-line">
                  <span class="cut address">
                    <Letters of={miss.address} unlike={inbox.address} />
                  </span>
                  <Badge kind={miss.outcome === 'refused' ? 'bad' : 'warn'}>
                    {miss.outcome} {miss.times > 1 && `${miss.times} times`}
                  </Badge>
                  <Ago time={miss.at} />
                </div>
                {miss.inboxId && <a href={href(`/inboxes/${miss.inboxId}`)}>Open the inbox that got it</a>}
              </li>
            ))}
          </ul>
        </section>
      )}
      {refused.length > 0 && (
        <section>
          <h2>Mail for this address that was refused</h2>
          <Refusals refusals={refused} />
        </section>
      )}
      {failedHandshakes.length > 0 && (
        <section>
          <h2>TLS handshakes that failed</h2>
          <ul>
            {failedHandshakes.map((one) => (
              <li class="seen" key={`${one.at}${one.reason}`}>
                <div class="row-line">
                  <span class="cut">{one.reason}</span>
                  <Ago time={one.at} />
                </div>
                <span class="small muted">from {one.remoteAddress}</span>
              </li>
            ))}
          </ul>
        </section>
      )}
    </>
  );
}

/** Why no mail of an inbox meets the conditions of a wait: one wait that does not wait, in words. */
export function Why({ id }: { id: string }) {
  const search = query.value;
  const match = matchIn(search);
  const since = search.get('since');
  const wait = useQuery(`why ${id} ${search}`, async (signal) => {
    const path = { id };
    const [inbox, result] = await Promise.all([
      mayfly.call('GET /v1/inboxes/{id}', { path, signal }),
      mayfly.call('POST /v1/inboxes/{id}/wait', {
        path,
        body: { match, timeoutSeconds: 0, ...(since && { since }) },
        signal,
      }),
    ]);
    return { inbox, result };
  });
  return (
    <div class="screen">
      <ScreenHead
        title="Why nothing came"
        lead={
          wait.data && (
            <a class="address" href={href(`/inboxes/${id}`)}>
              {wait.data.inbox.address}
            </a>
          )
        }
      />
      <div class="page">
        <Conditions />
        <Loaded query={wait}>{({ inbox, result }) => <Explanation inbox={inbox} result={result} />}</Loaded>
      </div>
    </div>
  );
}
