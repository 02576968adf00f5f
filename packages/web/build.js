/*
 * Builds the console into dist/ with compressed copies of each file beside it: `npm run build -w packages/web`, and after
 * `npm ci`. Plain JavaScript, because it runs before Mayfly's own Node.js may be in place.
 */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { brotliCompressSync, constants, gzipSync } from 'node:zlib';

const root = fileURLToPath(new URL('.', import.meta.url));
// Vite is a development dependency: an installation without those keeps the console that was built before.
const vite = await import('vite').catch((error) => {
  if (!process.argv.includes('--after-install')) throw error;
});
if (!vite) process.exit();
await vite.build({ root, configFile: join(root, 'vite.config.js'), logLevel: 'warn' });

for (const entry of readdirSync(join(root, 'dist'), { recursive: true, withFileTypes: true })) {
  if (!entry.isFile()) continue;
  const path = join(entry.parentPath, entry.name);
  const bytes = readFileSync(path);
  const params = { [constants.BROTLI_PARAM_QUALITY]: 9, [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length };
  writeFileSync(`${path}.br`, brotliCompressSync(bytes, { params }));
  writeFileSync(`${path}.gz`, gzipSync(bytes, { level: 9 }));
}
