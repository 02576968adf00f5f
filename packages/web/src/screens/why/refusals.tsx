import type { api } from '@mayfly/client';
import { href } from '../../lib/router.ts';
import { Ago } from '../../ui/basics.tsx';

/** Mail that was refused, newest first. @param isOfAll shows for which address, with a link that explains it */
export const Refusals = ({
  refusals,
  isOfAll,
}: {
  refusals: readonly api.RefusedMail[];
  isOfAll?: boolean;
}) => (
  <ul>
    {refusals.map((one) => (
      <li class="seen" key={`${one.at}${one.address}${one.reply}`}>
        <div class="row-line">
          {isOfAll && one.address && (
            <a class="mono" href={href('/why', { address: one.address })}>
              {one.address}
            </a>
          )}
          <code class="cut" title={one.reply}>
            {one.reply || (one.fault ? `fault rule ${one.fault.rule}` : 'the connection ended in the middle')}
          </code>
          <Ago time={one.at} />
        </div>
        <span class="small muted">
          from {one.mailFrom || 'nobody (bounce)'} at {one.remoteAddress}, HELO {one.helo}
        </span>
      </li>
    ))}
  </ul>
);
