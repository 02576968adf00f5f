import { changePieces, clean } from './mime/clean.ts';
import { bodyBytes, type PartRole } from './mime/part-index.ts';
import { type Part, type Parts, readParts } from './mime/parts.ts';

/* Decides which parts are bodies and which are attachments, more leniently than RFC 8621 section 4.1.4. */

type BodyKind = 'text' | 'html';

const HTML = new Set(['text/html', 'application/xhtml+xml']);
const PREFERRED: Readonly<Record<BodyKind, string>> = { text: 'text/plain', html: 'text/html' };
/** Subtypes of `text` that hold data. All others are shown as text (RFC 2046 section 4.1.4). */
const DATA_SUBTYPES = new Set(
  (
    'calendar csv tab-separated-values vcard x-vcard directory x-amp-html rfc822-headers css javascript ' +
    'ecmascript xml xsl rtf cache-manifest vtt x-patch x-diff'
  ).split(' '),
);
const MAYBE_EMPTY_BYTES = 1_024;

export function readPartRoles(source: Buffer): Parts {
  const parts = readParts(source);
  let hasBody = false;
  setRoles(parts.root, false);
  return parts;

  function setRoles(part: Part, isBeside: boolean): void {
    part.role = part.children.length === 0 ? roleOf(part, isBeside) : 'multipart';
    const shown = part.type === 'multipart/related' ? relatedRoot(part) : undefined;
    for (const child of part.children) {
      setRoles(child, isBeside || (shown !== undefined && child !== shown && !completes(child, shown)));
    }
  }

  function roleOf(part: Part, isBeside: boolean): PartRole {
    const kind = isBeside ? undefined : kindOf(part);
    if (kind === undefined || !isBody(part, kind, hasBody)) return 'attachment';
    if (isEmpty(source, part)) return 'none';
    hasBody = true;
    return kind;
  }
}

function kindOf(part: Part): BodyKind | undefined {
  const { type, oddType } = part;
  if (HTML.has(type) || oddType === 'html') return 'html';
  // A part of invalid type is plain text (RFC 2045 section 5.2), unless it has a file name or is base64.
  if (oddType !== '') return part.filename === '' && part.encoding !== 'base64' ? 'text' : undefined;
  if (type.startsWith('multipart/')) return wasTakenApart(part) ? 'text' : undefined;
  return type.startsWith('text/') && !DATA_SUBTYPES.has(type.slice(5)) ? 'text' : undefined;
}

const wasTakenApart = (part: Part): boolean => part.isMultipart || !part.parameters.get('boundary');

function isBody(part: Part, kind: BodyKind, hasBody: boolean): boolean {
  if (part.disposition === 'attachment') return false;
  const { parent } = part;
  if (parent === null) return true;
  if (parent.type === 'multipart/alternative') return part.type === notationOf(parent, kind);
  if (part.filename === '' || parent.type === 'multipart/related') return true;
  // A part with a file name is a body only if it has content, and if it is the first part of its parent
  // or no other body precedes it.
  return part.bodyEnd > part.bodyStart && (!hasBody || parent.children[0] === part);
}

function notationOf(alternative: Part, kind: BodyKind): string {
  const types = alternative.children
    .filter(
      (child) => child.children.length === 0 && child.disposition !== 'attachment' && kindOf(child) === kind,
    )
    .map(({ type }) => type);
  return types.includes(PREFERRED[kind]) ? PREFERRED[kind] : (types[0] ?? '');
}

const withoutBrackets = (id: string): string => id.trim().replace(/^<|>$/g, '');

/** The root (RFC 2387): the part named by `start`, else the first if it can be shown, else a better one. */
function relatedRoot({ children, parameters }: Part): Part | undefined {
  const start = withoutBrackets(parameters.get('start') ?? '');
  const named =
    start === '' ? undefined : children.find(({ contentId }) => withoutBrackets(contentId) === start);
  const [first] = children;
  if (named !== undefined || first === undefined || isShowable(first)) return named ?? first;
  const type = parameters.get('type')?.toLowerCase();
  return (
    children.find((child) => child.type === type && isShowable(child)) ??
    children.find((child) => child.children.length > 0 || kindOf(child) === 'html') ??
    children.find(isShowable) ??
    first
  );
}

const isShowable = (part: Part): boolean => part.children.length > 0 || kindOf(part) !== undefined;

/** Whether a part of a multipart/related is a second body, of a kind (text or HTML) that the root lacks. */
function completes(part: Part, root: Part): boolean {
  const kind = part.children.length === 0 ? kindOf(part) : undefined;
  return kind !== undefined && part.contentId === '' && part.filename === '' && !holds(root, kind);
}

function holds(part: Part, kind: BodyKind): boolean {
  if (part.children.length > 0) return part.children.some((child) => holds(child, kind));
  return kindOf(part) === kind;
}

function isEmpty(source: Buffer, part: Part): boolean {
  if (part.parent !== null && !part.type.startsWith('multipart/')) return false;
  const size = part.bodyEnd - part.bodyStart;
  if (size === 0 || part.encoding === '' || size > MAYBE_EMPTY_BYTES) return size === 0;
  return bodyBytes(source, part).length === 0;
}

export function joinTexts(texts: readonly string[]): string | null {
  if (texts.length === 0) return null;
  const text = clean(texts.length === 1 ? (texts[0] ?? '') : texts.join('\n'));
  return text.includes('\r') ? changePieces(text, (piece) => piece.replaceAll('\r\n', '\n')) : text;
}

/** A part without a disposition is inline if a body may refer to it, or if it is in a multipart/alternative. */
export function isInline({ disposition, contentId, parent }: Part): boolean {
  if (disposition !== '') return disposition === 'inline';
  return contentId !== '' || parent?.type === 'multipart/related' || parent?.type === 'multipart/alternative';
}
