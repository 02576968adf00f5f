import type { api } from '@mayfly/client';
import { useQuery } from '../../lib/query.ts';
import { mayfly } from '../../lib/session.ts';
import { Badge } from '../../ui/basics.tsx';
import { Loaded } from '../../ui/states.tsx';

const KINDS = { error: 'bad', warning: 'warn', info: 'info' } as const;

/** What is wrong with the mail, the most severe first. */
export function Lint({ message }: { message: api.Message }) {
  const { id: messageId, inboxId: id } = message;
  const report = useQuery(`lint ${messageId}`, (signal) =>
    mayfly.call('GET /v1/inboxes/{id}/messages/{messageId}/lint', { path: { id, messageId }, signal }),
  );
  return (
    <div class="padded">
      <Loaded query={report} rows={4}>
        {({ findings }) =>
          findings.length === 0 ? (
            <p class="answer">Nothing is wrong with this mail.</p>
          ) : (
            <ul>
              {findings.map(({ rule, severity, message: words, where, count, reference }) => (
                <li class="seen" key={rule}>
                  <div class="row-line">
                    <Badge kind={KINDS[severity]}>{severity}</Badge>
                    <b class="cut">{rule}</b>
                    {count > 1 && <span class="small">{count} times</span>}
                    <span class="small muted">{where}</span>
                  </div>
                  <p>{words}</p>
                  <p class="small muted">{reference}</p>
                </li>
              ))}
            </ul>
          )
        }
      </Loaded>
    </div>
  );
}
