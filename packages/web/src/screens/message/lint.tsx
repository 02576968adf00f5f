import type { api } from '@mayfly/client';
import { plural } from '../../lib/format.ts';
import { useQuery } from '../../lib/query.ts';
import { setQuery } from '../../lib/router.ts';
import { mayfly } from '../../lib/session.ts';
import { Badge, Button } from '../../ui/basics.tsx';
import { Loaded } from '../../ui/states.tsx';

const KINDS = { error: 'bad', warning: 'warn', info: 'info' } as const;

/** Where a finding is; the first line of the source that it names is a link. */
function Where({ text }: { text: string }) {
  const line = /\bline (\d+)/.exec(text);
  if (!line) return <>{text}</>;
  const show = () => setQuery({ view: 'source', of: null, line: line[1] ?? null });
  return (
    <>
      {text.slice(0, line.index)}
      <Button kind="quiet" class="in-text" onClick={show}>
        {line[0]}
      </Button>
      {text.slice(line.index + line[0].length)}
    </>
  );
}

const plurals = (findings: readonly api.LintFinding[]): string =>
  (['error', 'warning', 'info'] as const)
    .map((severity) => [findings.filter((one) => one.severity === severity).length, severity] as const)
    .filter(([number]) => number > 0)
    .map(([number, severity]) => (severity === 'info' ? `${number} to know` : plural(number, severity)))
    .join(', ');

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
            <>
              <p class="answer">{plurals(findings)}</p>
              <ul>
                {findings.map(({ rule, severity, message: words, where, count, reference }) => (
                  <li class="seen" key={rule}>
                    <div class="row-line">
                      <Badge kind={KINDS[severity]}>{severity}</Badge>
                      <b class="cut">{rule}</b>
                      {count > 1 && <span class="small">{count} times</span>}
                      <span class="small muted">{where && <Where text={where} />}</span>
                    </div>
                    <p>{words}</p>
                    <p class="small muted">{reference}</p>
                  </li>
                ))}
              </ul>
            </>
          )
        }
      </Loaded>
    </div>
  );
}
