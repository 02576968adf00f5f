import { stat, statfs } from 'node:fs/promises';

/** Sizes in bytes, for monitoring. */
export interface DiskFigures {
  /** The database file and its write-ahead log. */
  databaseBytes: number;
  /** Available to this user on the file system of the database. */
  freeBytes: number;
  totalBytes: number;
}

const sizeOf = async (path: string): Promise<number> => {
  try {
    return (await stat(path)).size;
  } catch {
    // The log is created by the first write and removed by the last close.
    return 0;
  }
};

/**
 * Measures the disk of a database.
 * @param path the database file
 * @throws Error of the file system
 */
export async function measureDisk(path: string): Promise<DiskFigures> {
  const { blocks, bavail, bsize } = await statfs(path);
  const databaseBytes = (await sizeOf(path)) + (await sizeOf(`${path}-wal`));
  return { databaseBytes, freeBytes: bavail * bsize, totalBytes: blocks * bsize };
}
