import type { api } from '@mayfly/client';
import { useState } from 'preact/hooks';
import { wordsOf } from '../../lib/actions.ts';
import { useKeys } from '../../lib/keys.ts';
import { loadInboxes, loadPages } from '../../lib/pages.ts';
import { useQuery } from '../../lib/query.ts';
import { href, query, setQuery } from '../../lib/router.ts';
import { mayfly, mayWrite } from '../../lib/session.ts';
import { Ago, Badge, Button, Field, ScreenHead, Snippet } from '../../ui/basics.tsx';
import { Dialog, DialogForm, DoneFoot } from '../../ui/dialog.tsx';
import { Shown } from '../../ui/shown.tsx';
import { Loaded, Notice } from '../../ui/states.tsx';

/** How a receiver checks that a request came from this server. */
const VERIFY = `import { Webhook } from 'standardwebhooks';

const event = new Webhook(process.env.MAYFLY_WEBHOOK_SECRET)
  .verify(rawBody, request.headers); // throws when the signature is wrong`;

/** The secret of a webhook, and how to use it. */
export const SecretDialog = ({
  secret,
  title,
  onClose,
}: {
  secret: string;
  title: string;
  onClose: () => void;
}) => (
  <Dialog title={title} onClose={onClose} isWide>
    <div class="dialog-body">
      <Shown label="Signing secret, shown only now" what="the secret" value={secret} />
      <p class="muted">
        Check the signature of each request with a library of the Standard Webhooks specification:
      </p>
      <Snippet what="the code" text={VERIFY} />
    </div>
    <DoneFoot onClose={onClose} />
  </Dialog>
);

function CreateWebhook({ onClose }: { onClose: () => void }) {
  const inboxes = useQuery('webhook inboxes', (signal) => loadInboxes({}, signal));
  const [problem, setProblem] = useState('');
  const [secret, setSecret] = useState('');
  const submit = async (data: FormData) => {
    const inboxId = String(data.get('inbox'));
    const description = String(data.get('description'));
    try {
      const created = await mayfly.call('POST /v1/webhooks', {
        body: {
          url: String(data.get('url')),
          ...(inboxId && { inboxId }),
          ...(description && { description }),
        },
      });
      setSecret(created.secret);
    } catch (error) {
      setProblem(wordsOf(error));
    }
  };
  if (secret) return <SecretDialog title="The webhook is registered" secret={secret} onClose={onClose} />;
  return (
    <Dialog title="New webhook" onClose={onClose}>
      <DialogForm verb="Register" onSubmit={submit} onClose={onClose}>
        <Field label="URL" error={problem} hint="Each new message is sent there by POST, signed.">
          <input autofocus name="url" type="url" required placeholder="http://127.0.0.1:3000/hooks/mayfly" />
        </Field>
        <Field label="Messages of">
          <select name="inbox">
            <option value="">all inboxes of the account</option>
            {(inboxes.data?.items ?? []).map(({ id, address }) => (
              <option key={id} value={id}>
                {address}
              </option>
            ))}
          </select>
        </Field>
        <Field label="Note">
          <input name="description" maxLength={256} placeholder="Sign-up tests" />
        </Field>
      </DialogForm>
    </Dialog>
  );
}

/** The state of a webhook in one word. */
export const WebhookState = ({ webhook }: { webhook: api.Webhook }) =>
  !webhook.enabled ? (
    <Badge kind={webhook.disabledReason ? 'bad' : undefined}>
      {webhook.disabledReason ? 'disabled' : 'paused'}
    </Badge>
  ) : webhook.failingSince ? (
    <Badge kind="warn">failing</Badge>
  ) : (
    <Badge kind="ok">active</Badge>
  );

async function loadWebhooks(signal: AbortSignal): Promise<api.Webhook[]> {
  const { items } = await loadPages(async (query) => {
    const { webhooks, hasMore } = await mayfly.call('GET /v1/webhooks', { query, signal });
    return { items: webhooks, hasMore };
  });
  return items;
}

/** The webhooks of the account. */
export function Webhooks() {
  const list = useQuery('webhooks', loadWebhooks);
  useKeys({ r: list.reload });
  const isCreating = query.value.has('new');
  const create = () => setQuery({ new: '1' });
  return (
    <div class="screen">
      <ScreenHead title="Webhooks" lead="Requests that Mayfly sends for each new message">
        {mayWrite.value && (
          <Button kind="primary" icon="plus" onClick={create}>
            New webhook
          </Button>
        )}
      </ScreenHead>
      <Loaded query={list} rows={3}>
        {(webhooks) =>
          webhooks.length === 0 ? (
            <Notice icon="hook" title="No webhooks yet">
              <p>
                A webhook sends each new message to an application as it arrives, signed and at least once,
                with retries for about nine hours.
              </p>
              {mayWrite.value && (
                <Button icon="plus" onClick={create}>
                  New webhook
                </Button>
              )}
            </Notice>
          ) : (
            <div class="page">
              <ul>
                {webhooks.map((webhook) => (
                  <li class="seen" key={webhook.id}>
                    <div class="row-line">
                      <a class="cut mono" href={href(`/webhooks/${webhook.id}`)}>
                        {webhook.url}
                      </a>
                      <WebhookState webhook={webhook} />
                    </div>
                    <span class="small muted">
                      {webhook.description && `${webhook.description} · `}
                      {webhook.inboxId ? 'one inbox' : 'all inboxes'} · registered{' '}
                      <Ago time={webhook.createdAt} />
                      {webhook.failingSince && (
                        <>
                          {' '}
                          · failing since <Ago time={webhook.failingSince} />
                        </>
                      )}
                    </span>
                  </li>
                ))}
              </ul>
            </div>
          )
        }
      </Loaded>
      {isCreating && mayWrite.value && (
        <CreateWebhook
          onClose={() => {
            setQuery({ new: null });
            list.reload();
          }}
        />
      )}
    </div>
  );
}
