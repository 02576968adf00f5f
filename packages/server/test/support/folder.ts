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

/** Creates an empty folder for the tests of the file or `describe` that calls this. @returns a function that returns its path */
export const useFolder = (): (() => string) => inFolders(beforeAll);

/** As {@link useFolder}, with a new folder for each test. */
export const useFolderOfTest = (): (() => string) => inFolders(beforeEach);
