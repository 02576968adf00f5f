import type { api } from '@mayfly/client';
import { plural } from '../../lib/format.ts';
import { useQuery } from '../../lib/query.ts';
import { query, setQuery } from '../../lib/router.ts';
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

/** `Outlook (Windows)` as its parts. */
const partsOf = (client: string): [name: string, platform: string] => {
  const [, name = client, platform = ''] = /^(.*) \((.*)\)$/.exec(client) ?? [];
  return [name, platform];
};

/** Points of a feature in a client, up to 1; undefined where it was not tested. */
const pointsOf = (feature: api.LintFeature, client: string): number | undefined =>
  feature.full.includes(client)
    ? 1
    : feature.partial.includes(client)
      ? 0.5
      : feature.none.includes(client)
        ? 0
        : undefined;

const mean = (points: readonly number[]): number =>
  Math.round((100 * points.reduce((sum, one) => sum + one, 0)) / Math.max(points.length, 1));

/** Lines of the decoded HTML, as links to them. */
const HtmlLines = ({ lines }: { lines: readonly number[] }) => (
  <>
    {lines.map((line) => (
      <Button
        key={line}
        kind="quiet"
        class="in-text"
        onClick={() => setQuery({ view: 'source', of: 'html', line: String(line) })}
      >
        line {line}
      </Button>
    ))}
  </>
);

const Missing = ({ word, features }: { word: string; features: readonly api.LintFeature[] }) =>
  features.length > 0 && (
    <p class="small">
      <b>{word}</b> {features.map(({ feature }) => feature).join(', ')}
    </p>
  );

/** How much of what the mail uses each mail client shows, by the platforms that one has chosen. */
function Clients({ features }: { features: readonly api.LintFeature[] }) {
  const all = [...new Set(features.flatMap(({ full, partial, none }) => [...full, ...partial, ...none]))];
  const platforms = [...new Set(all.map((client) => partsOf(client)[1]))].toSorted();
  const off = (query.value.get('without') ?? '').split(',').filter(Boolean);
  const toggle = (one: string) => {
    const left = off.includes(one) ? off.filter((other) => other !== one) : [...off, one];
    setQuery({ without: left.join(',') || null });
  };
  const rows = all
    .filter((client) => !off.includes(partsOf(client)[1]))
    .map((client) => {
      const points = features.map((one) => pointsOf(one, client)).filter((one) => one !== undefined);
      return { client, score: mean(points) };
    })
    .toSorted((a, b) => a.score - b.score || a.client.localeCompare(b.client));
  return (
    <section class="clients">
      <h2>By mail client: {mean(rows.map(({ score }) => score / 100))} of 100</h2>
      <p class="small muted">
        Of the HTML and CSS in this mail that not every client supports, so much works; partial support counts
        half.
      </p>
      {/* biome-ignore lint/a11y/useSemanticElements: a fieldset would need a visible legend. */}
      <div class="row-line" role="group" aria-label="Platforms">
        {platforms.map((one) => (
          <Button key={one} aria-pressed={!off.includes(one)} onClick={() => toggle(one)}>
            {one}
          </Button>
        ))}
      </div>
      <ul>
        {rows.map(({ client, score }) => (
          <li key={client}>
            <details>
              <summary>
                <span class="score">{score}</span> {client}
              </summary>
              <Missing word="Not:" features={features.filter((one) => one.none.includes(client))} />
              <Missing word="In part:" features={features.filter((one) => one.partial.includes(client))} />
            </details>
          </li>
        ))}
      </ul>
      <h2>What the mail uses</h2>
      <ul>
        {features
          .toSorted((a, b) => a.share - b.share)
          .map(({ feature, share, lines, reference }) => (
            <li key={feature} class="row-line">
              <span class="score">{share} %</span>
              <a href={reference} target="_blank" rel="noopener noreferrer">
                {feature}
              </a>
              <HtmlLines lines={lines} />
            </li>
          ))}
      </ul>
    </section>
  );
}

/** What is wrong with the mail, the most severe first. */
export function Lint({ message }: { message: api.Message }) {
  const { id: messageId, inboxId: id } = message;
  const report = useQuery(`lint ${messageId}`, (signal) =>
    mayfly.call('GET /v1/inboxes/{id}/messages/{messageId}/lint', { path: { id, messageId }, signal }),
  );
  return (
    <div class="padded">
      <Loaded query={report} rows={4}>
        {({ findings, features }) => (
          <>
            <p class="answer">{plurals(findings) || 'Nothing is wrong with this mail.'}</p>
            {findings.length > 0 && (
              <ul>
                {findings.map(({ rule, severity, message: words, where, count, reference }) => (
                  <li class="seen" key={rule}>
                    <div class="row-line wrap">
                      <Badge kind={KINDS[severity]}>{severity}</Badge>
                      <b>{rule}</b>
                      {count > 1 && <span class="small">{count} times</span>}
                      <span class="small muted">{where && <Where text={where} />}</span>
                    </div>
                    <p>
                      {rule === 'little-client-support'
                        ? 'Few mail clients support these. Make sure that the message is readable without them; which client lacks what is below.'
                        : words}
                    </p>
                    <p class="small muted">{reference}</p>
                  </li>
                ))}
              </ul>
            )}
            {features.length > 0 && <Clients features={features} />}
          </>
        )}
      </Loaded>
    </div>
  );
}
