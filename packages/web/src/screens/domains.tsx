import { useKeys } from '../lib/keys.ts';
import { useQuery } from '../lib/query.ts';
import { mayfly, session } from '../lib/session.ts';
import { Badge, CopyButton, ScreenHead, Snippet } from '../ui/basics.tsx';
import { Loaded } from '../ui/states.tsx';

/** The name for MX records: an MX record names a host and never an address (RFC 2181, section 10.3). */
const mailHost = (): string =>
  /^[\d.]+$|:|^localhost$/.test(location.hostname) ? 'mail.example.com' : location.hostname;

/** The domains for addresses, and what DNS has to say about them. */
export function Domains() {
  const domains = useQuery('domains', (signal) => mayfly.call('GET /v1/domains', { signal }));
  useKeys({ r: domains.reload });
  const host = mailHost();
  return (
    <div class="screen">
      <ScreenHead title="Domains" lead="Domains under which the account may have inboxes" />
      <Loaded query={domains} rows={3}>
        {({ domains: all }) => (
          <div class="page">
            <div class="table-box">
              <table>
                <thead>
                  <tr>
                    <th scope="col">Domain</th>
                    <th scope="col">Who may use it</th>
                    <th scope="col">Default</th>
                  </tr>
                </thead>
                <tbody>
                  {all.map((one) => (
                    <tr key={one.domain}>
                      <th scope="row">
                        <span class="mono">{one.domain}</span>{' '}
                        <CopyButton value={one.domain} what="the domain" />
                      </th>
                      <td>{one.shared ? 'every account' : 'this account'}</td>
                      <td>{one.default && <Badge kind="ok">yes</Badge>}</td>
                    </tr>
                  ))}
                </tbody>
              </table>
            </div>
            <section class="panel">
              <h2>Mail from the Internet</h2>
              <p class="muted">
                An application on this machine needs no DNS: it sends to the SMTP server of Mayfly. For mail
                from elsewhere, each domain needs MX records that name this server; the second one is for
                catch-all inboxes.
              </p>
              <Snippet
                what="the records"
                text={all
                  .map(({ domain }) => `${domain}.    MX  10  ${host}.\n*.${domain}.  MX  10  ${host}.`)
                  .join('\n')}
              />
              {host !== location.hostname && (
                <p class="muted small">
                  Write the name of this server in place of <code>{host}</code>.
                </p>
              )}
              <p class="muted small">
                The operator adds a domain with <code>mayfly domain add DOMAIN --account ACCOUNT</code>.
                {session.value?.account && ` The id of this account is ${session.value.account.id}.`}
              </p>
            </section>
          </div>
        )}
      </Loaded>
    </div>
  );
}
