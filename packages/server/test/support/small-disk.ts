import { spawnSync } from 'node:child_process';
import { appendFileSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const succeeds = (command: string, ...args: string[]) => spawnSync(command, args).status === 0;

/** Mounts a tmpfs of so many MiB at a folder. @throws Error if this user may not mount */
export function mountSmallDisk(path: string, mib: number): void {
  if (!succeeds('mount', '-t', 'tmpfs', '-o', `size=${mib}m`, 'tmpfs', path)) {
    throw new Error(`no disk may be mounted at ${path}`);
  }
}

export function makeReadOnly(path: string): void {
  if (!succeeds('mount', '-o', 'remount,ro', path)) throw new Error(`${path} stays writable`);
}

export function unmount(path: string): void {
  if (!succeeds('umount', path)) throw new Error(`${path} is in use`);
}

function mayMount(): boolean {
  const path = mkdtempSync(join(tmpdir(), 'mayfly-mount-'));
  try {
    mountSmallDisk(path, 1);
    unmount(path);
    return true;
  } catch {
    return false;
  } finally {
    rmSync(path, { recursive: true });
  }
}

/** False if this user may not mount; tests that need a small disk are skipped then. */
export const MAY_MOUNT = mayMount();

/** Appends to a file until its disk is full. */
export function fill(file: string): void {
  for (const bytes of [1024 * 1024, 4096]) {
    try {
      for (;;) appendFileSync(file, Buffer.alloc(bytes));
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error;
    }
  }
}
