import type { api } from '@mayfly/client';
import { useRef } from 'preact/hooks';
import { useQuery } from '../../lib/query.ts';
import { href, navigate, query, setQuery } from '../../lib/router.ts';
import { mayfly, mayWrite, session } from '../../lib/session.ts';
import { Button, ScreenHead, SearchField } from '../../ui/basics.tsx';
import { useFollowing } from '../../ui/search.tsx';
import { Loaded, Notice } from '../../ui/states.tsx';
import { Refusals } from './refusals.tsx';

/** Refusals that are listed. */
const SHOWN = 50;

interface Found {
  /** The inbox that takes everything else, where this account has it. */
  sink: api.Inbox | undefined;
  refusals: readonly api.RefusedMail[];
}

/** What is known of mail for an address that is no inbox; of all mail that was refused, without an address. */
async function find(address: string, signal: AbortSignal): Promise<Found | null> {
  if (address) {
    const { inboxes } = await mayfly.call('GET /v1/inboxes', { query: { address }, signal });
    const [inbox] = inboxes;
    if (inbox) {
      navigate(href(`/inboxes/${inbox.id}/why`), { replace: true });
      return null;
    }
  }
  const [{ refusals }, sinks] = await Promise.all([
    mayfly.call('GET /v1/refusals', { query: { limit: SHOWN, ...(address && { address }) }, signal }),
    mayfly.call('GET /v1/inboxes', { query: { 'label.mayfly': 'sink', limit: 1 }, signal }),
  ]);
  return { sink: sinks.inboxes[0], refusals };
}

/** Where mail for an address goes that is no inbox of the account. */
function Unknown({ address, sink }: { address: string; sink: api.Inbox | undefined }) {
  const isSinkOn = session.value?.server.sink ?? false;
  const create = () => navigate(href('/inboxes', { new: '1' }));
  return (
    <Notice
      icon="question"
      title={isSinkOn ? 'No inbox has this address: the sink takes its mail' : 'No inbox has this address'}
    >
      {isSinkOn ? (
        <p>
          Mail for <b class="mono">{address}</b> is accepted and goes to the sink
          {sink ? (
            <>
              .{' '}
              <a href={href(`/inboxes/${sink.id}`, { q: `to:${address}` })}>Show the mail for this address</a>
            </>
          ) : (
            ', which belongs to another account'
          )}
          . A test that waits in an inbox does not see it.
        </p>
      ) : (
        <p>
          Mail for <b class="mono">{address}</b> is refused with 550 5.1.1: the inbox was never created, was
          deleted or has expired, or belongs to another account.
        </p>
      )}
      {mayWrite.value && (
        <Button icon="plus" onClick={create}>
          New inbox
        </Button>
      )}
    </Notice>
  );
}

/** Finds the inbox of an address, whose screen explains; without one, shows what was refused. */
export function WhyAddress() {
  const wanted = query.value.get('address') ?? '';
  const input = useRef<HTMLInputElement>(null);
  useFollowing(input, wanted);
  const found = useQuery(`why address ${wanted}`, (signal) => find(wanted, signal));
  return (
    <div class="screen">
      <ScreenHead title="Why nothing came" lead="Enter the address that a test waits for." />
      <div class="page">
        <form
          class="toolbar flush"
          onSubmit={(event) => {
            event.preventDefault();
            setQuery({ address: input.current?.value.trim() || null }, { replace: false });
          }}
        >
          <SearchField
            ref={input}
            aria-label="Address"
            placeholder="brave.otter482136@mayfly.test"
            defaultValue={wanted}
          />
          <Button kind="primary" type="submit">
            Explain
          </Button>
        </form>
        <Loaded query={found}>
          {(result) =>
            result && (
              <>
                {wanted && <Unknown address={wanted} sink={result.sink} />}
                <section>
                  <h2>
                    {wanted ? 'Refused mail for this address' : 'Mail that was refused'}
                    {result.refusals.length === SHOWN && `, the newest ${SHOWN}`}
                  </h2>
                  {result.refusals.length === 0 ? (
                    <p class="muted padded-line">
                      None in the last 24 hours. Mail that was never sent to this server is not listed:
                      compare the settings of the application with those on{' '}
                      <a href={href('/connect')}>Connect</a>.
                    </p>
                  ) : (
                    <Refusals refusals={result.refusals} isOfAll={!wanted} />
                  )}
                </section>
              </>
            )
          }
        </Loaded>
      </div>
    </div>
  );
}
