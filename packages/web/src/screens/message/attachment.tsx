import type { api } from '@mayfly/client';
import { useEffect, useState } from 'preact/hooks';
import { bytes, showOverrides } from '../../lib/format.ts';
import { useQuery } from '../../lib/query.ts';
import { mayfly } from '../../lib/session.ts';
import { Dialog } from '../../ui/dialog.tsx';
import { Icon } from '../../ui/icons.tsx';
import { Loaded } from '../../ui/states.tsx';

/** Types that browsers only decode; an SVG could do more, and is only downloaded. */
const IMAGES = ['image/png', 'image/jpeg', 'image/gif', 'image/webp'];
/** A larger image is only downloaded. */
const MAX_IMAGE_BYTES = 5 * 1024 * 1024;
/** Characters of a text that are shown: a browser lays out more of them only slowly. */
const MAX_TEXT = 128 * 1024;
const MAX_ROWS = 200;

export const isShownImage = ({ contentType, size }: api.Attachment): boolean =>
  IMAGES.includes(contentType) && size <= MAX_IMAGE_BYTES;
const isText = ({ contentType }: api.Attachment): boolean =>
  contentType.startsWith('text/') || /[/+](json|xml|yaml)$/.test(contentType);

/** Fields of a line of CSV: quoted ones may hold the separator, and quotes twice (RFC 4180). */
const fieldsOf = (line: string, separator: string): string[] =>
  [...line.matchAll(new RegExp(`(?:^|${separator})(?:"((?:[^"]|"")*)"|([^${separator}]*))`, 'g'))].map(
    ([, quoted, plain]) => quoted?.replaceAll('""', '"') ?? plain ?? '',
  );

function Table({ text }: { text: string }) {
  const lines = text.split(/\r?\n/).filter(Boolean).slice(0, MAX_ROWS);
  const separator = [',', ';', '\t'].find((one) => lines[0]?.includes(one)) ?? ',';
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: the table scrolls sideways, also by keyboard.
    <section class="table-box" tabIndex={0} aria-label="The first rows">
      <table>
        <tbody>
          {lines.map((line, row) => (
            <tr key={row}>
              {fieldsOf(line, separator).map((field, index) =>
                row === 0 ? <th key={index}>{field}</th> : <td key={index}>{field}</td>,
              )}
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

const CALENDAR: Record<string, string> = {
  SUMMARY: 'What',
  DTSTART: 'From',
  DTEND: 'Until',
  LOCATION: 'Where',
  ORGANIZER: 'Organizer',
  STATUS: 'Status',
};

/** `20260304T050607Z` as `2026-03-04 05:06 UTC`; other values as they are (RFC 5545, section 3.3.5). */
const timeOf = (value: string): string =>
  value.replace(
    /^(\d{4})(\d\d)(\d\d)(?:T(\d\d)(\d\d)\d\d(Z?))?$/,
    (_, year, month, day, hour, minute, zone) =>
      `${year}-${month}-${day}${hour ? ` ${hour}:${minute}` : ''}${zone ? ' UTC' : ''}`,
  );

/** What an invitation says, of its first event. */
function Invitation({ text }: { text: string }) {
  const event = /BEGIN:VEVENT([\s\S]*?)END:VEVENT/.exec(text.replace(/\r?\n[ \t]/g, ''))?.[1] ?? '';
  const lines = [...event.matchAll(/^([A-Z-]+)(?:;[^:\r\n]*)?:(.*)$/gm)];
  return (
    <dl class="facts">
      {lines.map(([, name = '', value = ''], index) => {
        const label = CALENDAR[name];
        const shown = timeOf(value.trim())
          .replace(/^mailto:/i, '')
          .replace(/\\([,;n])/g, '$1');
        return (
          label && (
            <>
              <dt key={`t${index}`}>{label}</dt>
              <dd key={index}>{shown}</dd>
            </>
          )
        );
      })}
    </dl>
  );
}

const pretty = (text: string): string => {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
};

function Content({ part, text }: { part: api.Attachment; text: string }) {
  const { contentType, filename } = part;
  if (contentType === 'text/csv' || filename?.endsWith('.csv')) return <Table text={text} />;
  const shown = contentType.endsWith('json') ? pretty(text) : text;
  return (
    <>
      {contentType === 'text/calendar' && <Invitation text={text} />}
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: the text scrolls, also by keyboard. */}
      <pre class="source wrap" tabIndex={0}>
        {shown}
      </pre>
    </>
  );
}

const useBytes = (message: api.Message, part: api.Attachment) => {
  const path = { id: message.inboxId, messageId: message.id, attachmentId: part.id };
  return useQuery(`attachment ${message.id} ${part.id}`, (signal) =>
    mayfly.call('GET /v1/inboxes/{id}/messages/{messageId}/attachments/{attachmentId}', { path, signal }),
  );
};

/** The text of the part, cut; bytes that are no UTF-8 are marked by the decoder. */
function Text({ message, part }: { message: api.Message; part: api.Attachment }) {
  return (
    <Loaded query={useBytes(message, part)}>
      {(data) => <Content part={part} text={new TextDecoder().decode(data.subarray(0, MAX_TEXT))} />}
    </Loaded>
  );
}

/** Where a PDF begins; readers look for it in the first KiB (ISO 32000-1, annex H.3.4.1). */
const PDF_MARK = /%PDF-/;
const MARK_WITHIN = 1_024;

const isPdf = ({ contentType, filename }: api.Attachment): boolean =>
  contentType === 'application/pdf' ||
  (contentType === 'application/octet-stream' && /\.pdf$/i.test(filename ?? ''));

/**
 * A PDF in the viewer of the browser, which runs apart from the page, or its plain download where there is none. The type
 * of the blob is fixed, so the bytes cannot be a page whatever they hold. A sandboxed frame would show no viewer.
 */
function Pdf({ message, part }: { message: api.Message; part: api.Attachment }) {
  const bytes = useBytes(message, part);
  const { data } = bytes;
  const [url, setUrl] = useState<string>();
  useEffect(() => {
    if (!data) return;
    const made = URL.createObjectURL(new Blob([data.slice()], { type: 'application/pdf' }));
    setUrl(made);
    return () => URL.revokeObjectURL(made);
  }, [data]);
  return (
    <Loaded query={bytes}>
      {(loaded) =>
        !PDF_MARK.test(new TextDecoder('latin1').decode(loaded.subarray(0, MARK_WITHIN))) ? (
          <p class="muted">This is no PDF, although it is declared as one.</p>
        ) : navigator.pdfViewerEnabled ? (
          <iframe
            class="part-pdf"
            title="The PDF"
            src={url && `${url}#navpanes=0`}
            referrerpolicy="no-referrer"
          />
        ) : (
          <p class="muted">This browser has no viewer for PDF: download it to look at it.</p>
        )
      }
    </Loaded>
  );
}

/** An attachment as far as it can be shown safely, and its download. */
export function AttachmentDialog({
  message,
  part,
  onClose,
}: {
  message: api.Message;
  part: api.Attachment;
  onClose: () => void;
}) {
  const name = showOverrides(part.filename ?? part.id);
  return (
    <Dialog title={name} onClose={onClose} isWide>
      <div class="dialog-body">
        <p class="row-line">
          <span class="small muted cut">
            <span class="mono">{part.contentType}</span>, {bytes(part.size)}
          </span>
          <a class="button" href={part.url} download={name}>
            <Icon name="download" /> Download
          </a>
        </p>
        {isShownImage(part) ? (
          <img class="part-image whole" src={part.url} alt={`Content of ${name}`} />
        ) : isText(part) ? (
          <Text message={message} part={part} />
        ) : isPdf(part) ? (
          <Pdf message={message} part={part} />
        ) : (
          <p class="muted">A browser could run what a file of this type holds: download it to look at it.</p>
        )}
      </div>
    </Dialog>
  );
}
