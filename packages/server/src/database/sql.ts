export type Engine = 'sqlite' | 'postgres';

/** What both engines store. Booleans are 0 and 1, lists and objects JSON text. */
export type Value = string | number | bigint | null | Uint8Array;

/** SQL with its values. Only this module creates it, so that no value becomes SQL text. */
export class Sql {
  readonly strings: readonly string[];
  readonly pieces: readonly Piece[];

  constructor(strings: readonly string[], pieces: readonly Piece[]) {
    this.strings = strings;
    this.pieces = pieces;
  }
}

class PerEngine {
  readonly texts: Readonly<Record<Engine, Sql>>;

  constructor(texts: Readonly<Record<Engine, Sql>>) {
    this.texts = texts;
  }
}

/** One parameter, so that the SQL text does not depend on the number of values. */
class AnyOf {
  readonly values: readonly (string | number)[];

  constructor(values: readonly (string | number)[]) {
    this.values = values;
  }
}

export type Piece = Value | Sql | PerEngine | AnyOf;

/** Values become parameters; pieces of SQL are inserted. */
export function sql(strings: TemplateStringsArray, ...pieces: readonly Piece[]): Sql {
  return new Sql(strings, pieces);
}

export const EMPTY = sql``;

/** @param separator constant SQL */
export function join(pieces: readonly Sql[], separator: string): Sql {
  if (pieces.length === 0) return EMPTY;
  return new Sql(['', ...pieces.slice(1).map(() => separator), ''], pieces);
}

export const perEngine = (texts: Readonly<Record<Engine, string | Sql>>): PerEngine => {
  const toSql = (text: string | Sql): Sql => (typeof text === 'string' ? new Sql([text], []) : text);
  return new PerEngine({ sqlite: toSql(texts.sqlite), postgres: toSql(texts.postgres) });
};

/** The time by which nodes agree, epoch milliseconds: the database's clock. SQLite has one node, so it is `now`. */
export const databaseTime = (now: number | null): PerEngine =>
  perEngine({
    sqlite: sql`${now}`,
    postgres: '(extract(epoch from statement_timestamp()) * 1000)::bigint',
  });

/**
 * A table with one column `value`, for `from ${eachOf(rows)} as r`: one statement inserts any number of rows. Read
 * fields by `r.value ->> 'name'`, which PostgreSQL returns as text.
 */
export const eachOf = (rows: readonly object[]): Sql =>
  sql`${perEngine({ sqlite: 'json_each', postgres: 'json_array_elements' })}(${JSON.stringify(rows)})`;

/** Ignores at least the case of ASCII letters. */
export const LIKE = perEngine({ sqlite: 'like', postgres: 'ilike' });

/** Locks rows until the transaction ends. Not `for update`, which blocks inserts that reference the rows. */
export const FOR_UPDATE = perEngine({ sqlite: '', postgres: 'for no key update' });
export const FOR_UPDATE_SKIP_LOCKED = perEngine({ sqlite: '', postgres: 'for no key update skip locked' });

/** Prevents the deletion of rows until the transaction ends. */
export const KEEP = perEngine({ sqlite: '', postgres: 'for key share' });

const inserts = new Map<string, readonly string[]>();

/** `insert into … values (…), (…)`. @param into,returning constant SQL */
export function inserted(into: string, rows: readonly (readonly Value[])[], returning: string): Sql {
  const columns = rows[0]?.length ?? 0;
  const key = `${into} ${rows.length} ${returning}`;
  const strings = inserts.get(key) ?? [
    `insert into ${into} values (`,
    ...Array.from({ length: rows.length * columns - 1 }, (_, n) => ((n + 1) % columns === 0 ? '), (' : ', ')),
    `) ${returning}`,
  ];
  inserts.set(key, strings);
  return new Sql(strings, rows.flat());
}

/** For `where id ${anyOf(ids)}`. An empty list matches nothing. */
export const anyOf = (values: readonly (string | number)[]): AnyOf => new AnyOf(values);

/** @param text never made of input */
export const constant = (text: string): Sql => new Sql([text], []);

/** Lists are parameters of PostgreSQL only. */
export interface Compiled {
  text: string;
  values: (Value | readonly (string | number)[])[];
}

interface Known {
  text: string;
  constants: readonly Piece[];
}

/** `single`: SQLite queries whose lists have one value each; `=` takes half the time of a list. */
const known: Readonly<Record<Engine | 'single', WeakMap<readonly string[], Known>>> = {
  sqlite: new WeakMap(),
  single: new WeakMap(),
  postgres: new WeakMap(),
};

const isSingle = (piece: Piece): boolean => !(piece instanceof AnyOf) || piece.values.length === 1;

const isParameter = (piece: Piece): piece is Value | AnyOf =>
  typeof piece !== 'object' || !(piece instanceof Sql || piece instanceof PerEngine);

function isConstant(piece: Piece, engine: Engine): boolean {
  if (isParameter(piece)) return false;
  const { pieces } = piece instanceof Sql ? piece : piece.texts[engine];
  return pieces.every((one) => isConstant(one, engine));
}

const toValue = (piece: Value | AnyOf, engine: Engine | 'single'): Compiled['values'][number] => {
  if (!(piece instanceof AnyOf)) return piece;
  if (engine === 'single') return piece.values[0] ?? null;
  return engine === 'postgres' ? piece.values : JSON.stringify(piece.values);
};

export function compile(query: Sql, engine: Engine): Compiled {
  const { strings, pieces } = query;
  const parameters: (Value | AnyOf)[] = [];
  const constants: Piece[] = [];
  let kind: Engine | 'single' = engine === 'sqlite' ? 'single' : engine;
  for (const piece of pieces) {
    if (!isParameter(piece)) constants.push(piece);
    else parameters.push(piece);
    if (kind === 'single' && !isSingle(piece)) kind = engine;
  }
  const before = known[kind].get(strings);
  if (
    before?.constants.length === constants.length &&
    constants.every((piece, index) => piece === before.constants[index])
  ) {
    const to = kind;
    return { text: before.text, values: parameters.map((piece) => toValue(piece, to)) };
  }
  const compiled: Compiled = { text: '', values: [] };
  append(compiled, query, engine);
  if (constants.every((piece) => isConstant(piece, engine)))
    known[kind].set(strings, { text: compiled.text, constants });
  return compiled;
}

function append(to: Compiled, { strings, pieces }: Sql, engine: Engine): void {
  const kind = engine === 'sqlite' && pieces.every(isSingle) ? 'single' : engine;
  to.text += strings[0];
  for (const [index, piece] of pieces.entries()) {
    if (piece instanceof Sql) append(to, piece, engine);
    else if (piece instanceof PerEngine) append(to, piece.texts[engine], engine);
    else if (!(piece instanceof AnyOf)) to.text += parameter(to, piece, kind);
    else if (kind === 'postgres') to.text += `= any(${parameter(to, piece, kind)})`;
    else if (kind === 'single') to.text += `= ${parameter(to, piece, kind)}`;
    else to.text += `in (select value from json_each(${parameter(to, piece, kind)}))`;
    to.text += strings[index + 1];
  }
}

function parameter(to: Compiled, piece: Value | AnyOf, kind: Engine | 'single'): string {
  to.values.push(toValue(piece, kind));
  return kind === 'postgres' ? `$${to.values.length}` : '?';
}

/** Returns `otherwise` for invalid JSON, so that one damaged row does not fail a whole list. */
export function parseOr<T>(text: string, otherwise: T): T {
  try {
    return JSON.parse(text);
  } catch {
    return otherwise;
  }
}
