import { createRequire } from 'node:module';
import { dirname, join, relative, resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import type { Plugin } from 'vitest/config';

const SRC = fileURLToPath(new URL('../../packages/server/src/', import.meta.url));
const { upToDateBundle } = createRequire(import.meta.url)('../../packages/server/bin/bundle.js');

const THREAD = /new URL\(['"](\.[^'"]+)\.ts['"], import\.meta\.url\)/g;

/**
 * Threads that servers in a test start run the bundle of the sources, which takes half of the time to load. The main
 * thread runs the sources.
 */
export function bundledThreads(): Plugin {
  let isWatching = false;
  let folder: string | undefined;
  const entry = (path: string, importer: string): string => {
    folder ??= upToDateBundle() ?? '';
    const name = relative(SRC, resolve(dirname(importer), path)).replaceAll(/[\\/]/g, '-');
    return folder ? pathToFileURL(join(folder, `${name}.cjs`)).href : '';
  };
  return {
    name: 'bundled-threads',
    // Sources change while the tests run.
    configureVitest: ({ vitest, defineCacheKeyGenerator }) => {
      isWatching = vitest.config.watch;
      // Which bundle is up to date is not in the code.
      defineCacheKeyGenerator(({ id, sourceCode }) =>
        id.startsWith(SRC) && sourceCode.search(THREAD) >= 0 ? false : null,
      );
    },
    transform(code, id) {
      if (isWatching || !id.startsWith(SRC)) return null;
      const changed = code.replaceAll(THREAD, (found, path) => {
        const url = entry(path, id);
        return url ? `new URL('${url}')` : found;
      });
      return changed === code ? null : { code: changed, map: null };
    },
  };
}
