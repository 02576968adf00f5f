import { createRequire } from 'node:module';
import { dirname, join, relative, resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

const SRC = fileURLToPath(new URL('../../packages/server/src/', import.meta.url));
const { upToDateBundle } = createRequire(import.meta.url)('../../packages/server/bin/bundle.js');

/**
 * Threads that servers in a test start run the bundle of the sources, which takes half of the time to load. The main
 * thread runs the sources.
 */
export function bundledThreads() {
  const folder: string | undefined = upToDateBundle();
  return {
    name: 'bundled-threads',
    transform(code: string, id: string) {
      if (folder === undefined || !id.startsWith(SRC)) return null;
      const changed = code.replaceAll(
        /new URL\(['"](\.[^'"]+)\.ts['"], import\.meta\.url\)/g,
        (_, path: string) => {
          const name = relative(SRC, resolve(dirname(id), path)).replaceAll(/[\\/]/g, '-');
          return `new URL('${pathToFileURL(join(folder, `${name}.cjs`))}')`;
        },
      );
      return changed === code ? null : { code: changed, map: null };
    },
  };
}
