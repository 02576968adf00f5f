/** A template that cannot be parsed or rendered. */
export class TemplateError extends Error {}

export interface Path {
  kind: 'path';
  original: string;
  /** Number of leading `../`, each of which selects a parent scope. */
  up: number;
  /** True if it begins with `@`. */
  isData: boolean;
  /** True if it begins with `this` or `.`, and so cannot name a block parameter. */
  isScoped: boolean;
  parts: readonly string[];
}
export interface Call {
  kind: 'call';
  /** The helper to call; without arguments also a value. */
  path: Path;
  args: readonly Expression[];
  named: readonly (readonly [string, Expression])[];
}
export type Expression = Path | Call | { kind: 'literal'; value: unknown };

export interface Block {
  kind: 'block';
  call: Call;
  /** Names of block parameters: `as |item index|`. */
  params: readonly string[];
  body: Node[];
  otherwise: Node[];
}
export type Node =
  | string
  | Block
  | { kind: 'value'; call: Call; isRaw: boolean }
  | { kind: 'partial'; call: Call }
  | { kind: 'inline'; call: Call; body: Node[] };

// Limits of templates, because they are untrusted and parsed on the main thread.
const MAX_TEMPLATE_LENGTH = 512 * 1024;
const MAX_NESTING = 64;

/**
 * `value` for `{{x}}`, otherwise the character after the braces: `!` for comments, `{` and `&` for unescaped
 * values.
 */
type TagType = 'value' | '!' | '{' | '&' | '#' | '#*' | '^' | '/' | '>' | 'else';
interface Tag {
  type: TagType;
  call: Call | undefined;
  params: string[];
  trimsBefore: boolean;
  trimsAfter: boolean;
}
interface Piece {
  text: string;
  /** The tag after the text; undefined at the end of the template. */
  tag: Tag | undefined;
}
interface Frame {
  /** Name that the closing tag must have; undefined for the whole template. */
  name: string | undefined;
  nodes: Node[];
  block?: Block;
  /** Opened by `{{else if …}}`: it ends together with the enclosing block. */
  isChained?: boolean;
}

/**
 * Parses the syntax of Handlebars, including variables, sections and comments of Mustache, in linear time.
 * (The parser of Handlebars itself takes quadratic time: minutes for a template of 300 kB.) @throws
 * TemplateError for an invalid template
 */
export function parseTemplate(source: string): Node[] {
  if (source.length > MAX_TEMPLATE_LENGTH)
    throw new TemplateError(`The template is longer than ${MAX_TEMPLATE_LENGTH} characters.`);
  return treeOf(new Scanner(source).pieces());
}

const COMMENT = /!(?:--.*?--|(?!--)[^}]*?)(?=~?\}\})/sy;
const OPEN = /\{\{(~?)/y;
const SIGN = /#\*|[{&#^/>]|else(?=[\s~}])|/y;
const CLOSE = /\s*\}?(~?)\}\}/y;
const WORD = /\s*(?:"([^"]*)"|'([^']*)'|([()])|((?:\[[^\]]*\]|[^\s"'(){}~=|[\]])+)(=?))/y;
const BLOCK_PARAMS = /\s*as\s+\|([^|}]*)\|/y;

class Scanner {
  readonly #source: string;
  #position = 0;
  #nesting = 0;

  constructor(source: string) {
    this.#source = source;
  }

  pieces(): Piece[] {
    const pieces: Piece[] = [];
    let text = '';
    for (;;) {
      const start = this.#source.indexOf('{{', this.#position);
      text += this.#source.slice(this.#position, start === -1 ? undefined : start);
      if (start === -1) return [...pieces, { text, tag: undefined }];
      this.#position = start;
      if (text.endsWith('\\')) {
        text = `${text.slice(0, -1)}{{`;
        this.#position += 2;
        continue;
      }
      pieces.push({ text, tag: this.#tag() });
      text = '';
    }
  }

  #match(pattern: RegExp): RegExpExecArray | undefined {
    pattern.lastIndex = this.#position;
    const match = pattern.exec(this.#source);
    if (match) this.#position = pattern.lastIndex;
    return match ?? undefined;
  }

  #fail(): never {
    const line = this.#source.slice(0, this.#position).split('\n').length;
    const near = this.#source.slice(this.#position, this.#position + 20);
    throw new TemplateError(`Parse error on line ${line}, near: ${near}`);
  }

  #tag(): Tag {
    const trimsBefore = Boolean(this.#match(OPEN)?.[1]);
    const isComment = this.#match(COMMENT) !== undefined;
    const sign = isComment ? '!' : this.#match(SIGN)?.[0] || 'value';
    const call = isComment ? undefined : this.#call();
    const params = this.#match(BLOCK_PARAMS)?.[1]?.trim().split(/\s+/) ?? [];
    const trimsAfter = Boolean((this.#match(CLOSE) ?? this.#fail())[1]);
    const type = sign === '^' && !call ? 'else' : (sign as TagType);
    if (!call && type !== 'else' && type !== '!') this.#fail();
    return { type, call, params, trimsBefore, trimsAfter };
  }

  /** Parses the words up to the end of a tag or a closing parenthesis. */
  #call(): Call | undefined {
    if (++this.#nesting > MAX_NESTING) this.#fail();
    let path: Path | undefined;
    const args: Expression[] = [];
    const named: [string, Expression][] = [];
    let name: string | undefined;
    for (;;) {
      const isEnd = this.#peek(CLOSE) || this.#peek(BLOCK_PARAMS) || this.#peek(/\s*\)/y);
      const word = isEnd ? undefined : (this.#match(WORD) ?? this.#fail());
      if (!word) break;
      if (word[5]) {
        name = word[4] ?? '';
        continue;
      }
      const value = this.#expression(word);
      if (name !== undefined) named.push([name, value]);
      else if (path) args.push(value);
      else path = value.kind === 'path' ? value : pathOf(value.kind === 'literal' ? `[${value.value}]` : '');
      name = undefined;
    }
    this.#nesting--;
    return path && { kind: 'call', path, args, named };
  }

  #peek(pattern: RegExp): boolean {
    pattern.lastIndex = this.#position;
    return pattern.test(this.#source);
  }

  #expression([, double, single, parenthesis, word = '']: RegExpExecArray): Expression {
    const text = double ?? single;
    if (text !== undefined) return { kind: 'literal', value: text };
    if (parenthesis) {
      const call = parenthesis === '(' ? this.#call() : undefined;
      if (!call || !this.#match(/\s*\)/y)) return this.#fail();
      return call;
    }
    if (/^-?\d+(?:\.\d+)?$/.test(word)) return { kind: 'literal', value: Number(word) };
    if (LITERALS.has(word)) return { kind: 'literal', value: LITERALS.get(word) };
    return pathOf(word);
  }
}

const LITERALS = new Map<string, unknown>([
  ['true', true],
  ['false', false],
  ['null', null],
  ['undefined', undefined],
]);

function pathOf(original: string): Path {
  const isData = original.startsWith('@');
  const [, ups = '', scope = '', rest = ''] =
    /^@?((?:\.\.\/?)*)((?:this|\.)(?:[./]|$))?(.*)$/s.exec(original) ?? [];
  const parts = rest.match(/\[[^\]]*\]|[^./[\]]+/g) ?? [];
  return {
    kind: 'path',
    original,
    up: Math.ceil(ups.length / 3),
    isData,
    isScoped: scope !== '' || ups !== '',
    parts: parts.map((part) => (part.startsWith('[') ? part.slice(1, -1) : part)),
  };
}

function treeOf(pieces: readonly Piece[]): Node[] {
  const root: Frame = { name: undefined, nodes: [] };
  const frames = [root];
  for (const [index, { tag }] of pieces.entries()) {
    const text = trimmedText(pieces, index);
    const frame = frames.at(-1) ?? root;
    if (text) frame.nodes.push(text);
    if (tag) addTag(frames, frame, tag);
    if (frames.length > MAX_NESTING) throw new TemplateError('The template is nested too deeply.');
  }
  const open = frames.at(-1)?.name;
  if (open !== undefined) throw new TemplateError(`Parse error: the block "${open}" is not closed.`);
  return root.nodes;
}

function addTag(frames: Frame[], frame: Frame, { type, call, params }: Tag): void {
  if (type === 'else') addElse(frames, frame, call, params);
  if (type === 'else' || !call) return;
  const name = call.path.original;
  if (type === 'value') frame.nodes.push({ kind: 'value', call, isRaw: false });
  else if (type === '{' || type === '&') frame.nodes.push({ kind: 'value', call, isRaw: true });
  else if (type === '>') frame.nodes.push({ kind: 'partial', call });
  else if (type === '/') closeBlock(frames, name);
  else if (type === '#*') {
    const body: Node[] = [];
    frame.nodes.push({ kind: 'inline', call, body });
    frames.push({ name, nodes: body });
  } else {
    const block: Block = { kind: 'block', call, params, body: [], otherwise: [] };
    frame.nodes.push(block);
    frames.push({ name, block, nodes: type === '^' ? block.otherwise : block.body });
  }
}

/** Adds `{{else}}`, or `{{else if x}}`, which is a block within the else branch. */
function addElse(frames: Frame[], frame: Frame, call: Call | undefined, params: string[]): void {
  const { block } = frame;
  if (!block) throw new TemplateError('Parse error: {{else}} stands in no block.');
  frame.nodes = frame.nodes === block.body ? block.otherwise : block.body;
  if (!call) return;
  const inner: Block = { kind: 'block', call, params, body: [], otherwise: [] };
  frame.nodes.push(inner);
  frames.push({ name: call.path.original, block: inner, nodes: inner.body, isChained: true });
}

function closeBlock(frames: Frame[], name: string): void {
  while (frames.at(-1)?.isChained) frames.pop();
  const open = frames.pop()?.name;
  if (open !== name)
    throw new TemplateError(
      `Parse error: {{/${name}}} does not close ${open === undefined ? 'a block' : `"${open}"`}.`,
    );
}

/** The text without white space removed by `~`, and without the line of a tag that stands alone. */
function trimmedText(pieces: readonly Piece[], index: number): string {
  let { text = '' } = pieces[index] ?? {};
  const before = pieces[index - 1]?.tag;
  const after = pieces[index]?.tag;
  // Trim the end first, so that a text between two standalone tags keeps its own lines.
  if (after?.trimsBefore) text = text.trimEnd();
  else if (isStandalone(pieces, index)) text = text.slice(0, text.lastIndexOf('\n') + 1);
  if (before?.trimsAfter) return text.trimStart();
  return isStandalone(pieces, index - 1) ? text.replace(/^[ \t]*\r?\n?/, '') : text;
}

function isStandalone(pieces: readonly Piece[], index: number): boolean {
  const { tag, text = '' } = pieces[index] ?? {};
  if (!tag || tag.type === 'value' || tag.type === '{' || tag.type === '&') return false;
  const next = pieces[index + 1];
  const startsLine = index === 0 ? /(?:^|\n)[ \t]*$/ : /\n[ \t]*$/;
  return startsLine.test(text) && (next?.tag ? /^[ \t]*\r?\n/ : /^[ \t]*(?:\r?\n|$)/).test(next?.text ?? '');
}
