import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeAll, beforeEach } from 'vitest';

function inFolders(before: typeof beforeAll | typeof beforeEach): () => string {
  let folder = '';
  before(() => {
    folder = mkdtempSync(join(tmpdir(), 'mayfly-test-'));
    return () => rmSync(folder, { recursive: true, force: true });
  });
  return () => folder;
}

/** An empty folder for the tests of the file or `describe` that calls this. @returns gives its path to them */
export const useFolder = (): (() => string) => inFolders(beforeAll);

/** The same, with a folder for each test. */
export const useFolderOfTest = (): (() => string) => inFolders(beforeEach);
