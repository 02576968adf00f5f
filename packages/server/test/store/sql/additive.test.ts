import { describe, expect, it } from 'vitest';
import { MIGRATIONS } from '../../../src/database/migrate.ts';
import { tablesOf } from '../../../src/database/schema.ts';
import { compile, type Engine, type Sql, type Tx } from '../../../src/database/sql.ts';

/** What a statement may do to tables that servers of the previous version use. */
const ADDITIONS: readonly RegExp[] = [
  /^create table /,
  /^create (?!unique)index /,
  // The previous version inserts rows without the column.
  /^alter table "\w+" add column (?!.*not null(?!.* default| default))(?!.*unique)(?!.*references)/,
  /^alter table "\w+" add column "\w+" [\w "]+ default \S+ not null$/,
  // Settings of storage and of vacuum change no row.
  /^alter table "?\w+"? (set \((?!.*schema)|alter column "?\w+"? set storage )/,
  /^(insert into|update|select|analyze) /,
];

/** A unique index is an addition only on a table of the same migration. */
function isAddition(statement: string, created: ReadonlySet<string>): boolean {
  const uniqueOn = /^create unique index \S+ on "?(\w+)"?/.exec(statement)?.[1];
  if (uniqueOn !== undefined) return created.has(uniqueOn);
  return ADDITIONS.some((addition) => addition.test(statement));
}

/** @returns what is wrong with the statements of a migration */
function findBreaking(statements: readonly string[]): string[] {
  const normal = statements.map((text) => text.trim().toLowerCase().replaceAll(/\s+/g, ' '));
  const created = new Set(
    normal.flatMap((text) => /^create table (?:if not exists )?"?(\w+)/.exec(text)?.[1] ?? []),
  );
  return normal.filter((text) => !isAddition(text, created));
}

/** A transaction without a database, which keeps the text of its statements. */
function recorder(engine: Engine, statements: string[]): Tx {
  const record = async (query: Sql) => void statements.push(compile(query, engine).text);
  return {
    engine,
    all: (query) => record(query).then(() => []),
    first: (query) => record(query).then(() => undefined),
    run: (query) => record(query).then(() => 0),
    finish: (statements) => statements,
    hint: () => undefined,
  };
}

describe.each(['sqlite', 'postgres'] as const)('migrations on %s', (engine) => {
  it('only add to the tables, and say that servers of the version before can use them', async () => {
    for (const { schema, usableFrom, up } of MIGRATIONS) {
      const statements: string[] = [];
      await up(recorder(engine, statements));
      expect(findBreaking(statements), `schema ${schema}`).toEqual([]);
      expect(usableFrom).toBeLessThan(schema);
    }
  });

  it('begin after the tables of schema 1, which the same check accepts on an empty database only', () => {
    const statements = tablesOf(engine).map((statement) => compile(statement, engine).text);
    expect(statements.length).toBeGreaterThan(50);
    expect(findBreaking(statements)).toEqual([]);
    const indexes = statements.filter((text) => /^create unique index/.test(text));
    expect(findBreaking(indexes)).toEqual(indexes);
  });
});

describe('the check of migrations', () => {
  it.each([
    'drop table "inboxes"',
    'drop index "inboxes_alive"',
    'alter table "inboxes" drop column "version"',
    'alter table "inboxes" rename column "version" to "revision"',
    'alter table "inboxes" rename to "boxes"',
    'alter table "inboxes" alter column "version" type text',
    'alter table "inboxes" add column "colour" text not null',
    'alter table "inboxes" add column "colour" text unique',
    'alter table "inboxes" add constraint "c" check (version > 0)',
    'create unique index "one" on "inboxes" ("address")',
    'delete from "inboxes"',
    'truncate "inboxes"',
  ])('finds what would break a server of the previous version: %s', (statement) => {
    expect(findBreaking([statement])).toEqual([statement]);
  });

  it('allows additions', () => {
    const additions = [
      'create table "nodes" ("id" text primary key)',
      'create unique index "nodes_one" on "nodes" ("id")',
      'create index "inboxes_x" on "inboxes" ("address")',
      'alter table "inboxes" add column "colour" text',
      'alter table "inboxes" add column "size" bigint default 0 not null',
      'insert into "nodes" ("id") select "id" from "inboxes"',
    ];
    expect(findBreaking(additions)).toEqual([]);
  });
});
