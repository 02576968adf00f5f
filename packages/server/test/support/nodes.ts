import { describe } from 'vitest';
import type { Overrides } from '../../src/app.ts';
import { createDatabaseWithTables } from '../store/postgres/open-postgres.ts';
import { hasPostgres } from './postgres.ts';
import { sharedPostgres } from './shared-postgres.ts';
import { startApp, type TestApp } from './start-app.ts';
import { startedOnce } from './started.ts';

/** A database engine for the servers of a test. */
export interface EngineUnderTest {
  name: string;
  /** How many servers may run on one database. */
  nodes: 1 | 2;
  /** Creates a database. @returns its settings */
  env(): Promise<Record<string, string>>;
}

const sqlite: EngineUnderTest = { name: 'SQLite', nodes: 1, env: async () => ({}) };

const postgres: EngineUnderTest = {
  name: 'two servers on PostgreSQL',
  nodes: 2,
  env: async () => ({ MAYFLY_DATABASE_URL: await createDatabaseWithTables(await sharedPostgres()) }),
};

const HAS_POSTGRES = await hasPostgres();

type Cases = (engine: EngineUnderTest) => void;

export function describeOnSqlite(name: string, cases: Cases): void {
  describe(`${name}, SQLite`, () => cases(sqlite));
}

/** Runs the cases if PostgreSQL is available. */
export function describeOnPostgres(name: string, cases: Cases): void {
  describe.skipIf(!HAS_POSTGRES)(`${name}, two servers on PostgreSQL`, () => cases(postgres));
}

/** Runs the cases on SQLite, and on PostgreSQL if it is available. */
export function describeOnEngines(name: string, cases: Cases): void {
  describeOnSqlite(name, cases);
  describeOnPostgres(name, cases);
}

/** Servers on one database. */
export interface Servers {
  apps: readonly TestApp[];
  /** The first server; `last` is another one on PostgreSQL. */
  first(): TestApp;
  last(): TestApp;
}

/** Servers for the tests of a `describe`; their fields are there when these run. */
export function useServers(
  engine: EngineUnderTest,
  settings: Record<string, string> = {},
  overrides: Overrides = {},
): Servers {
  let database: ReturnType<EngineUnderTest['env']> | undefined;
  const start = async () => {
    database ??= engine.env();
    return startApp({ ...(await database), ...settings }, overrides);
  };
  const apps = Array.from({ length: engine.nodes }, () => startedOnce(start));
  return { apps, first: () => apps[0] as TestApp, last: () => apps.at(-1) as TestApp };
}
