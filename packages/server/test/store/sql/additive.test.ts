import {
  type DatabaseConnection,
  type Dialect,
  DummyDriver,
  Kysely,
  PostgresAdapter,
  PostgresIntrospector,
  PostgresQueryCompiler,
  SqliteAdapter,
  SqliteIntrospector,
  SqliteQueryCompiler,
} from 'kysely';
import { describe, expect, it } from 'vitest';
import { postgresDialect } from '../../../src/store/postgres/kysely.ts';
import { MIGRATIONS } from '../../../src/store/sql/migrations/migrate.ts';
import { sqliteDialect } from '../../../src/store/sqlite/kysely.ts';

/**
 * The newest migration of a release on which other servers may still run: set it when a version is released.
 * What comes after it must leave those servers working (docs/postgresql.md, "Rolling upgrade").
 */
const RELEASED = '0007-sessions';

/** What a statement may do to tables that servers of the previous version use. */
const ADDITIONS: readonly RegExp[] = [
  /^create table /,
  /^create (?!unique)index /,
  // The previous version inserts rows without the column.
  /^alter table "\w+" add column (?!.*not null(?!.* default| default))(?!.*unique)(?!.*references)/,
  /^alter table "\w+" add column "\w+" [\w "]+ default \S+ not null$/,
  // Settings of storage and of vacuum change no row.
  /^alter table "?\w+"? (set \((?!.*schema)|alter column "?\w+"? set storage )/,
  // Without a constraint everything is accepted that was accepted before.
  /^alter table "?\w+"? drop constraint /,
  // For servers of the previous version, so it needs a test of what they do (upgrade.test.ts).
  /^create (function|trigger) /,
  /^(insert into|update|select|analyze) /,
];

/** A unique index is an addition only on a table of the same migration. */
function isAddition(statement: string, created: ReadonlySet<string>): boolean {
  const uniqueOn = /^create unique index \S+ on "(\w+)"/.exec(statement)?.[1];
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

/** Runs migrations without a database, and keeps the text of their statements. */
function recorder(statements: string[]): Pick<Dialect, 'createDriver'> {
  const connection: DatabaseConnection = {
    async executeQuery({ sql }) {
      statements.push(sql);
      return { rows: [] };
    },
    // biome-ignore lint/correctness/useYield: nothing is streamed.
    async *streamQuery() {
      throw new Error('Queries are not streamed.');
    },
  };
  class Recorder extends DummyDriver {
    override acquireConnection = async () => connection;
  }
  return { createDriver: () => new Recorder() };
}

const ENGINES = {
  PostgreSQL: {
    dialect: postgresDialect,
    kysely: {
      createAdapter: () => new PostgresAdapter(),
      createIntrospector: (db: Kysely<unknown>) => new PostgresIntrospector(db),
      createQueryCompiler: () => new PostgresQueryCompiler(),
    },
  },
  SQLite: {
    dialect: sqliteDialect,
    kysely: {
      createAdapter: () => new SqliteAdapter(),
      createIntrospector: (db: Kysely<unknown>) => new SqliteIntrospector(db),
      createQueryCompiler: () => new SqliteQueryCompiler(),
    },
  },
};

describe.each(Object.entries(ENGINES))('a migration after the released ones, on %s', (_, engine) => {
  it('only adds', async () => {
    for (const [name, migration] of Object.entries(MIGRATIONS)) {
      if (name <= RELEASED) continue;
      const statements: string[] = [];
      const db = new Kysely<unknown>({ dialect: { ...engine.kysely, ...recorder(statements) } });
      await migration.up(db, engine.dialect);
      expect(findBreaking(statements), name).toEqual([]);
    }
  });
});

describe('a migration after 0014', () => {
  const later = Object.entries(MIGRATIONS).filter(([name]) => name >= '0015');
  it.each(later)('%s says that servers of the version before can use the tables', (name, { usableFrom }) => {
    expect(usableFrom).toBeLessThan(Number(name.slice(0, 4)));
  });
});

describe('the check of migrations', () => {
  const BREAKING = [
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
  ];
  it.each(BREAKING)('finds what would break a server of the previous version: %s', (statement) => {
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
