import type { api } from '@mayfly/client';
import { useState } from 'preact/hooks';
import { attempt, wordsOf } from '../lib/actions.ts';
import { useKeys } from '../lib/keys.ts';
import { useQuery } from '../lib/query.ts';
import { query, setQuery } from '../lib/router.ts';
import { loadSession, mayfly, mayWrite, session } from '../lib/session.ts';
import { exact, now, serverNow } from '../lib/time.ts';
import { Ago, Badge, Button, Field, IconButton, ScreenHead } from '../ui/basics.tsx';
import { Confirm, Dialog, DialogForm, DoneFoot } from '../ui/dialog.tsx';
import { Shown } from '../ui/shown.tsx';
import { Loaded } from '../ui/states.tsx';

const DAY_MS = 86_400_000;

function CreateKey({ onClose }: { onClose: () => void }) {
  const [problem, setProblem] = useState('');
  const [key, setKey] = useState('');
  const submit = async (data: FormData) => {
    const days = Number(data.get('days'));
    try {
      const created = await mayfly.call('POST /v1/keys', {
        body: {
          name: String(data.get('name')),
          scope: data.get('scope') === 'read' ? 'read' : 'full',
          ...(days > 0 && { expiresAt: new Date(serverNow() + days * DAY_MS).toISOString() }),
        },
      });
      setKey(created.key);
    } catch (error) {
      setProblem(wordsOf(error));
    }
  };
  if (key) {
    return (
      <Dialog title="The new API key" onClose={onClose}>
        <div class="dialog-body">
          <Shown label="API key, shown only now: the server keeps its hash" what="the key" value={key} />
        </div>
        <DoneFoot onClose={onClose} />
      </Dialog>
    );
  }
  return (
    <Dialog title="New API key" onClose={onClose}>
      <DialogForm verb="Create" onSubmit={submit} onClose={onClose}>
        <Field label="What it is for" error={problem}>
          <input autofocus name="name" required maxLength={100} placeholder="ci" />
        </Field>
        <div class="form-grid">
          <Field label="Scope">
            <select name="scope">
              <option value="full">full: everything</option>
              <option value="read">read: changes nothing</option>
            </select>
          </Field>
          <Field label="Expires">
            <select name="days">
              <option value="0">never</option>
              <option value="7">in 7 days</option>
              <option value="30">in 30 days</option>
              <option value="365">in a year</option>
            </select>
          </Field>
        </div>
      </DialogForm>
    </Dialog>
  );
}

/** Asks before a key is revoked; for the key of this session its name has to be typed. */
function Revoke({ one, onClose, onDone }: { one: api.Key; onClose: () => void; onDone: () => void }) {
  const isOwn = session.value?.key?.id === one.id;
  const [name, setName] = useState('');
  const revoke = async () => {
    const done = await attempt(async () => {
      await mayfly.call('DELETE /v1/keys/{id}', { path: { id: one.id } });
      return true;
    });
    if (done && isOwn) await loadSession();
    if (done) onDone();
  };
  return (
    <Confirm
      title="Revoke the key"
      verb="Revoke"
      isAllowed={!isOwn || name === one.name}
      onConfirm={() => void revoke()}
      onClose={onClose}
    >
      <p>
        Programs that use <b>{one.name}</b> (<code>{one.prefix}…</code>) get 401 from now on.
      </p>
      {isOwn && (
        <Field
          label={`You are signed in with this key and will be signed out. Type its name, ${one.name}, to go on`}
        >
          <input value={name} onInput={(event) => setName(event.currentTarget.value)} />
        </Field>
      )}
    </Confirm>
  );
}

/** The API keys of the account. */
export function Keys() {
  const keys = useQuery('keys', async (signal) => (await mayfly.call('GET /v1/keys', { signal })).keys);
  useKeys({ r: keys.reload });
  const [revoking, setRevoking] = useState<api.Key>();
  const isCreating = query.value.has('new');
  return (
    <div class="screen">
      <ScreenHead title="API keys" lead="Only hashes are stored: a key is shown once, when it is created.">
        {mayWrite.value && (
          <Button kind="primary" icon="plus" onClick={() => setQuery({ new: '1' })}>
            New key
          </Button>
        )}
      </ScreenHead>
      <Loaded query={keys} rows={3}>
        {(all) => (
          <div class="page">
            <div class="table-box">
              <table class="stacked">
                <thead>
                  <tr>
                    <th scope="col">Name</th>
                    <th scope="col">Begins with</th>
                    <th scope="col">Scope</th>
                    <th scope="col">Last used</th>
                    <th scope="col">Expires</th>
                    <th scope="col">
                      <span class="visually-hidden">Revoke</span>
                    </th>
                  </tr>
                </thead>
                <tbody>
                  {all.map((one) => (
                    <tr key={one.id}>
                      <th scope="row">
                        {one.name}{' '}
                        {session.value?.key?.id === one.id && <Badge kind="info">this session</Badge>}
                      </th>
                      <td data-name="Begins with" class="mono">
                        {one.prefix}…
                      </td>
                      <td data-name="Scope">
                        <Badge kind={one.scope === 'full' ? 'ok' : undefined}>{one.scope}</Badge>
                      </td>
                      <td data-name="Last used">
                        {one.lastUsedAt ? <Ago time={one.lastUsedAt} /> : 'never'}
                      </td>
                      <td data-name="Expires">
                        {one.expiresAt === null ? (
                          'never'
                        ) : Date.parse(one.expiresAt) < now.value ? (
                          <Badge kind="bad">expired</Badge>
                        ) : (
                          <time dateTime={one.expiresAt} title={exact(one.expiresAt)}>
                            {new Date(one.expiresAt).toLocaleDateString()}
                          </time>
                        )}
                      </td>
                      <td>
                        {mayWrite.value && (
                          <IconButton
                            icon="trash"
                            label={`Revoke ${one.name}`}
                            onClick={() => setRevoking(one)}
                          />
                        )}
                      </td>
                    </tr>
                  ))}
                </tbody>
              </table>
            </div>
          </div>
        )}
      </Loaded>
      {isCreating && mayWrite.value && (
        <CreateKey
          onClose={() => {
            setQuery({ new: null });
            keys.reload();
          }}
        />
      )}
      {revoking && <Revoke one={revoking} onClose={() => setRevoking(undefined)} onDone={keys.reload} />}
    </div>
  );
}
