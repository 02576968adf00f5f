import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const folders = new Set<string>();
// Also when a bench fails or is interrupted: ten million messages must not stay on the disk.
process.on('exit', () => folders.forEach(removeFolder));

/** A new temporary folder; it goes with this process at the latest. */
export function makeFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'mayfly-bench-'));
  folders.add(folder);
  return folder;
}

export function removeFolder(folder: string): void {
  folders.delete(folder);
  rmSync(folder, { recursive: true, force: true });
}
