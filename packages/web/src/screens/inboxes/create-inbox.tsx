import type { api } from '@mayfly/client';
import { useState } from 'preact/hooks';
import { wordsOf } from '../../lib/actions.ts';
import { useQuery } from '../../lib/query.ts';
import { href, navigate } from '../../lib/router.ts';
import { mayfly } from '../../lib/session.ts';
import { Button, Field, IconButton } from '../../ui/basics.tsx';
import { Dialog, DialogForm } from '../../ui/dialog.tsx';
import { Shown } from '../../ui/shown.tsx';

type Pair = [name: string, value: string];

const LIFETIMES: [minutes: number, words: string][] = [
  [10, '10 minutes'],
  [60, '1 hour'],
  [1_440, '1 day'],
  [10_080, '7 days'],
];

/** Labels as pairs of fields; a last empty pair takes the next one. */
function Labels({ pairs, onChange }: { pairs: Pair[]; onChange: (pairs: Pair[]) => void }) {
  const set = (at: number, part: 0 | 1, value: string) =>
    onChange(
      pairs.map((pair, index) => (index === at ? (part === 0 ? [value, pair[1]] : [pair[0], value]) : pair)),
    );
  return (
    <fieldset class="pairs">
      <legend class="field-label">Labels, to find the inboxes of a test run</legend>
      {pairs.map(([name, value], index) => (
        <div key={index}>
          <input
            aria-label="Label"
            placeholder="run"
            value={name}
            onInput={(event) => set(index, 0, event.currentTarget.value)}
          />
          <input
            aria-label="Value"
            placeholder="4711"
            value={value}
            onInput={(event) => set(index, 1, event.currentTarget.value)}
          />
          <IconButton
            icon="trash"
            label="Remove the label"
            onClick={() => onChange(pairs.filter((_, at) => at !== index))}
          />
        </div>
      ))}
      <span>
        <Button kind="quiet" icon="plus" onClick={() => onChange([...pairs, ['', '']])}>
          Add a label
        </Button>
      </span>
    </fieldset>
  );
}

/** What only the response of the creation shows. It lives in this component and nowhere else. */
function Created({ inbox, onClose }: { inbox: api.CreatedInbox; onClose: () => void }) {
  const open = `${location.origin}${href('/open')}#${inbox.token}`;
  return (
    <Dialog title="The inbox is ready" onClose={onClose}>
      <div class="dialog-body">
        <Shown label="Address" what="the address" value={inbox.address} />
        {inbox.phoneNumber && (
          <Shown label="Telephone number" what="the telephone number" value={inbox.phoneNumber} />
        )}
        <Shown label="Read token, shown only now" what="the read token" value={inbox.token} />
        <Shown label="Link that opens this inbox and nothing else" what="the link" value={open} />
        {inbox.webhook && (
          <Shown
            label="Secret of the webhook, shown only now"
            what="the secret"
            value={inbox.webhook.secret}
          />
        )}
      </div>
      <div class="dialog-foot">
        <Button onClick={onClose}>Close</Button>
        <Button kind="primary" onClick={() => navigate(href(`/inboxes/${inbox.id}`))}>
          Open the inbox
        </Button>
      </div>
    </Dialog>
  );
}

/** Creates an inbox with all options of the API. */
export function CreateInbox({ onCreated, onClose }: { onCreated: () => void; onClose: () => void }) {
  const domains = useQuery('domains', (signal) => mayfly.call('GET /v1/domains', { signal }));
  const [kind, setKind] = useState<'random' | 'chosen' | 'catch-all' | 'sms'>('random');
  const [localPart, setLocalPart] = useState('');
  const [domain, setDomain] = useState('');
  const [ttl, setTtl] = useState(60);
  const [webhookUrl, setWebhookUrl] = useState('');
  const [pairs, setPairs] = useState<Pair[]>([]);
  const [problem, setProblem] = useState('');
  const [created, setCreated] = useState<api.CreatedInbox>();

  const submit = async () => {
    const labels = Object.fromEntries(pairs.filter(([name]) => name !== ''));
    const body: api.CreateInbox = {
      ttlMinutes: ttl,
      ...(domain && kind !== 'sms' && { domain }),
      ...(kind === 'chosen' && localPart && { localPart }),
      ...(kind === 'catch-all' && { catchAll: true }),
      ...(kind === 'sms' && { sms: true }),
      ...(Object.keys(labels).length > 0 && { labels }),
      ...(webhookUrl && { webhookUrl }),
    };
    setProblem('');
    try {
      const headers = {
        'idempotency-key': crypto.randomUUID?.() ?? `${performance.timeOrigin}${performance.now()}`,
      };
      setCreated(await mayfly.call('POST /v1/inboxes', { body, headers }));
      onCreated();
    } catch (error) {
      setProblem(wordsOf(error));
    }
  };
  if (created) return <Created inbox={created} onClose={onClose} />;
  return (
    <Dialog title="New inbox" onClose={onClose}>
      <DialogForm verb="Create" onSubmit={submit} onClose={onClose}>
        <div class="form-grid">
          <Field label="Address">
            <select
              autofocus
              value={kind}
              onChange={(event) => setKind(event.currentTarget.value as typeof kind)}
            >
              <option value="random">Random</option>
              <option value="chosen">Chosen</option>
              <option value="catch-all">All of a domain (catch-all)</option>
              <option value="sms">Telephone number (SMS)</option>
            </select>
          </Field>
          <Field label="Domain">
            <select
              disabled={kind === 'sms'}
              value={domain}
              onChange={(event) => setDomain(event.currentTarget.value)}
            >
              {(domains.data?.domains ?? []).map((one) => (
                <option key={one.domain} value={one.default ? '' : one.domain}>
                  {one.domain}
                </option>
              ))}
            </select>
          </Field>
        </div>
        {kind === 'chosen' && (
          <Field label="Local part" hint="1 to 64 of a–z 0–9 . _ -">
            <input
              value={localPart}
              placeholder="signup-test"
              onInput={(event) => setLocalPart(event.currentTarget.value)}
            />
          </Field>
        )}
        <Field label="Lifetime">
          <select value={ttl} onChange={(event) => setTtl(Number(event.currentTarget.value))}>
            {LIFETIMES.map(([minutes, words]) => (
              <option key={minutes} value={minutes}>
                {words}
              </option>
            ))}
          </select>
        </Field>
        <Labels pairs={pairs} onChange={setPairs} />
        <Field label="Webhook for this inbox" hint="Each new message is sent there. Leave it empty for none.">
          <input
            type="url"
            value={webhookUrl}
            placeholder="http://127.0.0.1:3000/hooks/mayfly"
            onInput={(event) => setWebhookUrl(event.currentTarget.value)}
          />
        </Field>
        {problem && (
          <p class="field-error" role="alert">
            {problem}
          </p>
        )}
      </DialogForm>
    </Dialog>
  );
}
