import type { api } from '@mayfly/client';
import { useState } from 'preact/hooks';
import { count } from '../../lib/format.ts';
import { CopyButton } from '../../ui/basics.tsx';

/** All header fields in their order. */
export function Headers({ message }: { message: api.Message }) {
  const [words, setWords] = useState('');
  const wanted = words.toLowerCase();
  const shown = message.headers.filter(({ name, value }) =>
    `${name}: ${value}`.toLowerCase().includes(wanted),
  );
  return (
    <div class="padded">
      <div class="row-line">
        <input
          type="search"
          aria-label="Search header fields"
          placeholder="Name or value"
          value={words}
          onInput={(event) => setWords(event.currentTarget.value)}
        />
        <CopyButton
          value={shown.map(({ name, value }) => `${name}: ${value}`).join('\n')}
          what="the header fields"
        />
      </div>
      <div class="table-box">
        <table>
          <caption class="visually-hidden">{count(shown.length)} header fields</caption>
          <tbody>
            {shown.map(({ name, value }, index) => (
              <tr key={index}>
                <th scope="row">{name}</th>
                <td class="mono cell-long">{value}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </div>
  );
}
