import type { api } from '@mayfly/client';
import { bytes } from '../../lib/format.ts';
import { Badge, CopyButton } from '../../ui/basics.tsx';
import { Icon } from '../../ui/icons.tsx';

/** Bodies first, then attachments and inline parts, each with what the mail says about it. */
export const Parts = ({ message }: { message: api.Message }) => {
  const { text, html, attachments } = message;
  const size = (part: string) => new Blob([part]).size;
  return (
    <div class="padded">
      <div class="table-box">
        <table>
          <thead>
            <tr>
              <th scope="col">Part</th>
              <th scope="col">Type</th>
              <th scope="col" class="number">
                Size
              </th>
              <th scope="col">Role</th>
              <th scope="col">
                <span class="visually-hidden">Download</span>
              </th>
            </tr>
          </thead>
          <tbody>
            {text !== null && (
              <tr>
                <td>Text body</td>
                <td class="mono">text/plain</td>
                <td class="number">{bytes(size(text))}</td>
                <td>
                  <Badge kind="info">body</Badge>
                </td>
                <td />
              </tr>
            )}
            {html !== null && (
              <tr>
                <td>HTML body</td>
                <td class="mono">text/html</td>
                <td class="number">{bytes(size(html))}</td>
                <td>
                  <Badge kind="info">body</Badge>
                </td>
                <td />
              </tr>
            )}
            {attachments.map((part) => (
              <tr key={part.id}>
                <td>
                  {part.filename ?? <span class="muted">no name</span>}
                  {part.contentId && <div class="small muted">cid:{part.contentId}</div>}
                  <div class="small muted">
                    SHA-256 {part.sha256.slice(0, 12)}… <CopyButton value={part.sha256} what="the SHA-256" />
                  </div>
                </td>
                <td class="mono">{part.contentType}</td>
                <td class="number">{bytes(part.size)}</td>
                <td>
                  <Badge>{part.disposition}</Badge>
                </td>
                <td>
                  <a
                    class="icon-button"
                    href={part.url}
                    download={part.filename ?? part.id}
                    title="Download"
                    aria-label={`Download ${part.filename ?? part.id}`}
                  >
                    <Icon name="download" />
                  </a>
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {attachments.length === 0 && <p class="muted">The mail has no attachments and no inline parts.</p>}
    </div>
  );
};
