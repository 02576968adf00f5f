import { messageOf } from '../errors.ts';
import { tablesOf } from './schema.ts';
import { type Engine, sql, type Tx } from './sql.ts';

/** A change of the tables since schema 1. Released migrations are never changed. */
export interface Migration {
  schema: number;
  /** Lowest schema version of servers that can use the changed tables, and so may run during the upgrade. */
  usableFrom: number;
  up(tx: Tx): Promise<void>;
}

export const MIGRATIONS: Migration[] = [];

export const VERSIONS_TABLE = 'schema_versions';

/** Short: while a migration waits for the lock of a table, all later statements on that table wait too. */
const LOCK_TIMEOUT_MS = 2_000;
/** Key of the advisory lock for servers that start at the same time. Must be the same in all versions. */
const LOCK_KEY = 6_292_392;

interface Version {
  schema: number;
  usable_from: number;
}

function requireUsable(applied: readonly Version[], own: readonly number[]): void {
  const newer = applied.filter(({ schema }) => !own.includes(schema));
  const schema = Math.max(...own);
  const usableFrom = Math.max(...newer.map((version) => version.usable_from));
  const isComplete = own.every((one) => applied.some((version) => version.schema === one));
  if (isComplete && usableFrom <= schema) return;
  const need = isComplete ? `schema ${usableFrom} or newer` : 'that version';
  throw new Error(
    `The database was upgraded to schema ${Math.max(...newer.map((version) => version.schema))} by a newer version of Mayfly. It needs ${need}, and this version has schema ${schema}. Start the newer version, or restore a backup of this one.`,
  );
}

async function createTables(tx: Tx, engine: Engine): Promise<void> {
  try {
    for (const statement of tablesOf(engine)) await tx.run(statement);
  } catch (error) {
    if (!messageOf(error).includes('already exists')) throw error;
    throw new Error(
      'The database has tables that this version did not make: those of another program, or of Mayfly before its first release. Use an empty one.',
      { cause: error },
    );
  }
}

/** Creates or upgrades the tables. @throws Error if they are of a newer version and this version cannot use them */
export async function migrate(tx: Tx, engine: Engine): Promise<void> {
  if (engine === 'postgres') {
    await tx.first(sql`select pg_advisory_xact_lock(${LOCK_KEY})`);
    await tx.first(sql`select set_config('lock_timeout', ${String(LOCK_TIMEOUT_MS)}, true)`);
  }
  await tx.run(
    sql`create table if not exists schema_versions (schema integer primary key, usable_from integer not null)`,
  );
  const applied = await tx.all<Version>(sql`select schema, usable_from from schema_versions`);
  const own = [1, ...MIGRATIONS.map(({ schema }) => schema)];
  if (applied.some(({ schema }) => !own.includes(schema))) return requireUsable(applied, own);
  const applying = async ({ schema, usableFrom, up }: Migration) => {
    if (applied.some((version) => version.schema === schema)) return;
    await up(tx);
    await tx.run(sql`insert into schema_versions (schema, usable_from) values (${schema}, ${usableFrom})`);
  };
  await applying({ schema: 1, usableFrom: 1, up: () => createTables(tx, engine) });
  for (const migration of MIGRATIONS) await applying(migration);
}
