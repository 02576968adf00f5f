import type { api } from '@mayfly/client';
import { useState } from 'preact/hooks';
import { bytes, count, showOverrides } from '../../lib/format.ts';
import { Badge, Button, CopyButton } from '../../ui/basics.tsx';
import { Icon } from '../../ui/icons.tsx';
import { isShownImage } from './attachment.tsx';

/** How deep a part is: `2.1` lies within `2`, which lies within the message. */
const depthOf = (part: string): number => (part === '' ? 0 : part.split('.').length);
/** Deeper parts are not moved further to the right. */
const MAX_DEPTH = 6;

/** The MIME structure, in the order of the source. */
const Structure = ({ parts }: { parts: readonly api.StructurePart[] }) => (
  // biome-ignore lint/a11y/noNoninteractiveTabindex: the table scrolls sideways, also by keyboard.
  <section class="table-box" tabIndex={0} aria-label="MIME structure">
    <table>
      <caption>MIME structure</caption>
      <thead>
        <tr>
          <th scope="col">Part</th>
          <th scope="col">Name</th>
          <th scope="col" class="number">
            Size as sent
          </th>
          <th scope="col">Disposition</th>
        </tr>
      </thead>
      <tbody>
        {parts.map(({ part, contentType, size, disposition, filename, contentId }, index) => (
          <tr key={`${part} ${index}`}>
            <td class={`mono depth-${Math.min(MAX_DEPTH, depthOf(part))}`}>
              <span class="muted">{part}</span> {contentType}
            </td>
            <td>
              {filename && <bdi>{showOverrides(filename)}</bdi>}
              {contentId && <div class="small muted">cid:{contentId}</div>}
            </td>
            <td class="number">{bytes(size)}</td>
            <td>{disposition && <Badge>{disposition}</Badge>}</td>
          </tr>
        ))}
      </tbody>
    </table>
  </section>
);

/** More parts are listed when asked for: a browser lays out hundreds of them only slowly. */
const MAX_LISTED = 100;
function File({ part }: { part: api.Attachment }) {
  const name = showOverrides(part.filename ?? 'no name');
  return (
    <li class="seen">
      <div class="row-line">
        <b class="cut" title={name}>
          {name}
        </b>
        <a
          class="icon-button"
          href={part.url}
          download={part.filename === null ? part.id : name}
          title="Download"
          aria-label={`Download ${part.filename === null ? part.id : name}`}
        >
          <Icon name="download" />
        </a>
      </div>
      <div class="badges small muted">
        <span class="mono">{part.contentType}</span>
        <span>{bytes(part.size)}</span>
        <Badge>{part.disposition}</Badge>
        <span>
          SHA-256 {part.sha256.slice(0, 16)}… <CopyButton value={part.sha256} what="the SHA-256" />
        </span>
      </div>
      {isShownImage(part) && (
        <img class="part-image" src={part.url} alt={`Content of ${name}`} loading="lazy" />
      )}
    </li>
  );
}

/** Attachments and inline parts with their downloads, and the tree of all parts. */
export function Parts({ message }: { message: api.Message }) {
  const { attachments, structure } = message;
  const [isWhole, setWhole] = useState(false);
  const end = isWhole ? undefined : MAX_LISTED;
  const hidden = Math.max(attachments.length, structure.length) - MAX_LISTED;
  return (
    <div class="padded">
      <h2>Attachments and inline parts</h2>
      {attachments.length === 0 && <p class="muted">The mail has none.</p>}
      <ul>
        {attachments.slice(0, end).map((part) => (
          <File key={part.id} part={part} />
        ))}
      </ul>
      {!isWhole && hidden > 0 && (
        <p class="padded-line">
          <Button onClick={() => setWhole(true)}>Show {count(hidden)} more parts</Button>
        </p>
      )}
      <Structure parts={structure.slice(0, end)} />
    </div>
  );
}
