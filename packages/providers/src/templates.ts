import type { Mailroom } from './provider.ts';
import {
  type Block,
  type Call,
  type Expression,
  type Node,
  type Path,
  parseTemplate,
  TemplateError,
} from './template-parser.ts';

/** A function that a template may call, also as a block: `{{#equals a b}}…{{else}}…{{/equals}}`. */
export type Helper = (args: readonly unknown[], named: Readonly<Record<string, unknown>>) => unknown;

export interface RenderOptions {
  /** Whether `{{…}}` escapes HTML. */
  escape: boolean;
  helpers?: Readonly<Record<string, Helper>>;
  /** Throw TemplateError for `{{name}}` without a value, instead of rendering nothing. */
  strict?: boolean;
  /** Values of `@name`. */
  variables?: Readonly<Record<string, unknown>>;
  /**
   * Set to limit the output of all renderings for this request, which is in memory until its mails are sent.
   */
  request?: Mailroom;
}

// Limits of rendering, because it runs on the main thread.
const MAX_STEPS = 100_000;
const MAX_DEPTH = 64;
const MAX_OUTPUT_LENGTH = 8 * 1024 * 1024;
/** Limit of the output for one request. 1,000 recipients of 60 KB stay below it. */
const MAX_OUTPUT_OF_REQUEST = 64 * 1024 * 1024;
const outputs = new WeakMap<Mailroom, number>();

interface Scope {
  value: unknown;
  /** `@index`, `@key`, `@first`, `@last`. */
  data: Readonly<Record<string, unknown>>;
  /** Block parameters, and arguments of a partial. */
  named: Readonly<Record<string, unknown>>;
  parent: Scope | undefined;
}

/**
 * Renders a template in the syntax of Handlebars, including variables, sections and comments of Mustache.
 * Templates are interpreted and not compiled to code. They can read only own properties of the data, never a
 * prototype. @throws TemplateError for an invalid or too large template and for an unknown helper
 */
export function render(source: string, data: unknown, options: RenderOptions): string {
  const output = new Renderer(data, options).render(parseTemplate(source));
  if (options.request) countOutput(options.request, output.length);
  return output;
}

/** @throws TemplateError if the output of a request becomes too large */
export function countOutput(request: Mailroom, length: number): void {
  const total = (outputs.get(request) ?? 0) + length;
  outputs.set(request, total);
  if (total > MAX_OUTPUT_OF_REQUEST)
    throw new TemplateError(
      'The templates of this request are too large together. Send to fewer recipients at once.',
    );
}

/** Converts a TemplateError. @param refused creates the error to throw */
export function orRefused<T>(work: () => T, refused: (message: string) => Error): T {
  try {
    return work();
  } catch (error) {
    throw error instanceof TemplateError ? refused(error.message) : error;
  }
}

/** The templates that an application has stored at its provider. */
export const keptTemplates = async <T>(mailroom: Mailroom): Promise<T[]> =>
  (await mailroom.keptOf('template')).map(({ value }) => value as T);

class Renderer {
  readonly #root: unknown;
  readonly #options: RenderOptions;
  readonly #partials = new Map<string, readonly Node[]>();
  readonly #output: string[] = [];
  #length = 0;
  #steps = 0;
  #depth = 0;

  constructor(root: unknown, options: RenderOptions) {
    this.#root = root;
    this.#options = options;
  }

  render(nodes: readonly Node[]): string {
    this.#nodes(nodes, {
      ...{ value: this.#root, data: this.#options.variables ?? {}, named: {}, parent: undefined },
    });
    return this.#output.join('');
  }

  #step(): void {
    if (++this.#steps > MAX_STEPS) throw new TemplateError('The template takes too long to render.');
  }

  #nodes(nodes: readonly Node[], scope: Scope): void {
    if (++this.#depth > MAX_DEPTH) throw new TemplateError('The template is nested too deeply.');
    for (const node of nodes) this.#node(node, scope);
    this.#depth--;
  }

  #node(node: Node, scope: Scope): void {
    this.#step();
    if (typeof node === 'string') this.#write(node);
    else if (node.kind === 'value') this.#value(node.call, node.isRaw, scope);
    else if (node.kind === 'block') this.#block(node, scope);
    else if (node.kind === 'partial') this.#partial(node.call, scope);
    else {
      const [name] = node.call.args;
      this.#partials.set(this.#text(name && this.#evaluate(name, scope)), node.body);
    }
  }

  #write(text: string): void {
    this.#length += text.length;
    if (this.#length > MAX_OUTPUT_LENGTH) throw new TemplateError('The rendered template is too large.');
    this.#output.push(text);
  }

  #value(call: Call, isRaw: boolean, scope: Scope): void {
    const value = isPlain(call) ? this.#lookUp(call.path, scope) : this.#evaluate(call, scope);
    if (value === undefined && this.#options.strict)
      throw new TemplateError(`Attribute '${call.path.original}' is not present in the rendering data.`);
    const text = this.#text(value);
    this.#write(isRaw || !this.#options.escape ? text : escapeHtml(text));
  }

  #partial({ path: { original }, args, named }: Call, scope: Scope): void {
    const nodes = this.#partials.get(original);
    if (!nodes) throw new TemplateError(`The partial ${original} could not be found.`);
    const value = args[0] ? this.#evaluate(args[0], scope) : scope.value;
    this.#nodes(nodes, { ...scope, value, named: { ...scope.named, ...this.#named(named, scope) } });
  }

  #block(block: Block, scope: Scope): void {
    const { call, body, otherwise } = block;
    const name = call.path.original;
    if (isPlain(call)) {
      this.#section(this.#lookUp(call.path, scope), block, scope);
      return;
    }
    const [given] = call.args;
    const value = given && this.#evaluate(given, scope);
    if (name === 'each') this.#each(value, block, scope);
    else if (name === 'with' && isFull(value))
      this.#nodes(body, inner(scope, value, {}, block.params, [value]));
    else {
      const isTaken =
        name === 'if' || name === 'unless' || name === 'with' ? value : this.#evaluate(call, scope);
      this.#nodes(isFull(isTaken) === (name !== 'unless') ? body : otherwise, scope);
    }
  }

  /** Renders a block whose name is a value: Mustache's section. */
  #section(value: unknown, block: Block, scope: Scope): void {
    if (Array.isArray(value) && value.length > 0) this.#each(value, block, scope);
    else if (!isFull(value)) this.#nodes(block.otherwise, scope);
    else this.#nodes(block.body, value === true ? scope : inner(scope, value));
  }

  #each(value: unknown, { body, otherwise, params }: Block, scope: Scope): void {
    const keys = typeof value === 'object' && value !== null ? Object.keys(value) : [];
    if (keys.length === 0) this.#nodes(otherwise, scope);
    for (const [index, key] of keys.entries()) {
      this.#step();
      const item = ownValue(value, key);
      const data = {
        index,
        key: Array.isArray(value) ? index : key,
        first: index === 0,
        last: index === keys.length - 1,
      };
      this.#nodes(body, inner(scope, item, data, params, [item, data.key]));
    }
  }

  #named(pairs: Call['named'], scope: Scope): Record<string, unknown> {
    return Object.fromEntries(pairs.map(([name, value]) => [name, this.#evaluate(value, scope)]));
  }

  #evaluate(expression: Expression, scope: Scope): unknown {
    this.#step();
    if (expression.kind === 'literal') return expression.value;
    if (expression.kind === 'path') return this.#lookUp(expression, scope);
    const name = expression.path.original;
    const args = expression.args.map((arg) => this.#evaluate(arg, scope));
    if (name === 'lookup') return ownValue(args[0], this.#text(args[1]));
    const helper = ownValue(this.#options.helpers, name) as Helper | undefined;
    if (!helper) throw new TemplateError(`Missing helper: "${name}"`);
    return helper(args, this.#named(expression.named, scope));
  }

  #lookUp({ up, isData, isScoped, parts }: Path, scope: Scope): unknown {
    let from: Scope | undefined = scope;
    for (let left = up; left > 0; left--) from = from?.parent;
    const [head, ...tail] = parts;
    if (head === undefined) return from?.value;
    let value: unknown;
    if (isData) value = head === 'root' ? this.#root : ownValue(from?.data, head);
    else if (!isScoped && Object.hasOwn(scope.named, head)) value = scope.named[head];
    else value = ownValue(from?.value, head);
    for (const part of tail) value = ownValue(value, part);
    return value;
  }

  /** Converts a value as Handlebars does, but never calls a `toString` of the data. */
  #text(value: unknown, depth = 0): string {
    this.#step();
    if (value === undefined || value === null) return '';
    if (!Array.isArray(value)) return typeof value === 'object' ? '[object Object]' : String(value);
    if (depth > MAX_DEPTH) throw new TemplateError('The data is nested too deeply.');
    return value.map((item) => this.#text(item, depth + 1)).join(',');
  }
}

const isPlain = ({ args, named }: Call): boolean => args.length === 0 && named.length === 0;

function inner(
  parent: Scope,
  value: unknown,
  data: Scope['data'] = {},
  params: readonly string[] = [],
  values: readonly unknown[] = [],
): Scope {
  const named = Object.fromEntries(params.map((name, index) => [name, values[index]]));
  return { value, data: { ...parent.data, ...data }, named: { ...parent.named, ...named }, parent };
}

const ownValue = (of: unknown, key: string): unknown =>
  typeof of === 'object' && of !== null && Object.hasOwn(of, key)
    ? (of as Record<string, unknown>)[key]
    : undefined;

/** Whether Handlebars treats a value as true: empty lists and strings are false. */
const isFull = (value: unknown): boolean => (Array.isArray(value) ? value.length > 0 : Boolean(value));

const ESCAPES: Readonly<Record<string, string>> = {
  ...{ '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' },
  ...{ "'": '&#x27;', '`': '&#x60;', '=': '&#x3D;' },
};
const escapeHtml = (text: string): string => text.replace(/[&<>"'`=]/g, (sign) => ESCAPES[sign] ?? sign);
