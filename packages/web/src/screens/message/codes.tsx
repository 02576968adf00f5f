import type { api } from '@mayfly/client';
import { hostOf } from '../../lib/format.ts';
import { Badge, CodeChip, CopyButton } from '../../ui/basics.tsx';
import { Icon } from '../../ui/icons.tsx';

const KINDS: Record<string, 'ok' | 'info' | undefined> = {
  verify: 'ok',
  reset: 'ok',
  'sign-in': 'ok',
  unsubscribe: undefined,
};

/** The link that a mail is most likely about. */
export const firstLink = ({ links }: api.Message): api.MailLink | undefined =>
  links.find(({ kind, href }) => ['verify', 'reset', 'sign-in'].includes(kind) && isWeb(href));

const isWeb = (href: string): boolean => /^https?:\/\//i.test(href);

/** Codes and links with buttons that copy them: opening a link may use it up. */
export const Codes = ({ message }: { message: api.Message }) => (
  <div class="padded">
    <h2>Codes</h2>
    {message.codes.length === 0 && <p class="muted">The mail contains no one-time code.</p>}
    <ul class="link-list">
      {message.codes.map(({ value, context }) => (
        <li key={value}>
          <span class="target muted">{context}</span>
          <CodeChip value={value} />
        </li>
      ))}
    </ul>
    <h2>Links</h2>
    {message.links.length === 0 && <p class="muted">The mail contains no link.</p>}
    <ul class="link-list">
      {message.links.map(({ href, text, kind }, index) => (
        <li key={index}>
          <div>
            <b>{text || hostOf(href) || href.split(':')[0]}</b>{' '}
            {kind !== 'other' && <Badge kind={KINDS[kind]}>{kind}</Badge>}{' '}
            <span class="muted">{hostOf(href)}</span>
            <div class="target small mono">{href}</div>
          </div>
          <span class="row-line">
            <CopyButton value={href} what="the link" />
            {isWeb(href) && (
              <a
                class="icon-button"
                href={href}
                target="_blank"
                rel="noopener noreferrer"
                title="Open in a new tab"
                aria-label={`Open ${href} in a new tab`}
              >
                <Icon name="external" />
              </a>
            )}
          </span>
        </li>
      ))}
    </ul>
  </div>
);
