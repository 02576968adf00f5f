import { createHash } from 'node:crypto';
import { openSource, type Source, type SourceTable, type Value } from './source.ts';
import { openTarget, type Target } from './target.ts';

/** The size of a SHA-256 hash. */
const MODULUS = 1n << 256n;

/** Unambiguous encoding: type, length, content. */
function encode(value: Value): (string | Uint8Array)[] {
  if (value === null) return ['n'];
  if (typeof value === 'number') return [`i${value};`];
  if (typeof value === 'string') return [`t${Buffer.byteLength(value)};`, value];
  return [`b${value.byteLength};`, value];
}

/** Row count, and the sum of the rows' SHA-256 hashes, which does not depend on their order. */
class TableDigest {
  rows = 0;
  #sum = 0n;

  /** @param row its values, in an order of columns that both sides use */
  add(row: readonly Value[]): void {
    const hash = createHash('sha256');
    for (const value of row) for (const piece of encode(value)) hash.update(piece);
    this.#sum = (this.#sum + BigInt(`0x${hash.digest('hex')}`)) % MODULUS;
    this.rows += 1;
  }

  get hash(): string {
    return this.#sum.toString(16).padStart(64, '0');
  }
}

/** Rows of one INSERT: PostgreSQL takes 65,535 parameters, and no table has 60 columns. */
const BATCH_ROWS = 1_000;
/** Bytes of one INSERT; bounds the memory. */
const BATCH_BYTES = 4 * 1024 * 1024;

export interface CopiedTable {
  name: string;
  rows: number;
  hash: string;
}

const sizeOf = (value: Value): number =>
  typeof value === 'string' || value instanceof Uint8Array ? value.length : 8;

/** @returns the digest of the rows as they were read */
async function copyTable(source: Source, target: Target, table: SourceTable): Promise<TableDigest> {
  const digest = new TableDigest();
  let batch: Value[][] = [];
  let bytes = 0;
  for (const row of source.rows(table)) {
    digest.add(row);
    batch.push(row);
    for (const value of row) bytes += sizeOf(value);
    if (batch.length < BATCH_ROWS && bytes < BATCH_BYTES) continue;
    await target.insert(table, batch);
    batch = [];
    bytes = 0;
  }
  if (batch.length > 0) await target.insert(table, batch);
  return digest;
}

/** Reads a copied table back. @throws Error if it differs from the source */
async function verifyTable(target: Target, table: SourceTable, expected: TableDigest): Promise<void> {
  const found = new TableDigest();
  for await (const row of target.rows(table)) found.add(row);
  if (found.rows === expected.rows && found.hash === expected.hash) return;
  throw new Error(
    `The copy of the table "${table.name}" differs from the original (${found.rows} rows of ${expected.rows}, hash ${found.hash} instead of ${expected.hash}).`,
  );
}

async function copyAll(
  source: Source,
  target: Target,
  onTable: (table: CopiedTable) => void,
): Promise<CopiedTable[]> {
  target.requireSameTables(source.tables);
  const copied: CopiedTable[] = [];
  for (const table of source.tables) {
    const digest = await copyTable(source, target, table);
    await verifyTable(target, table, digest);
    const { rows, hash } = digest;
    copied.push({ name: table.name, rows, hash });
    onTable({ name: table.name, rows, hash });
  }
  await target.commit();
  return copied;
}

/**
 * Copies an embedded database, on which no server may run, to an empty PostgreSQL database. Commits after each table
 * was read back and compared, so a copy that fails or is interrupted leaves the database empty.
 * @param path the database file
 * @throws Error with advice
 */
export async function transfer(
  path: string,
  url: string,
  onTable: (table: CopiedTable) => void = () => undefined,
): Promise<CopiedTable[]> {
  const source = await openSource(path);
  try {
    const target = await openTarget(url);
    try {
      return await copyAll(source, target, onTable);
    } finally {
      await target.close();
    }
  } finally {
    source.close();
  }
}
