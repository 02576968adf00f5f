/*
 * Builds the console into dist/: `npm run build -w packages/web`, and after
 * `npm ci`. Plain JavaScript, because it runs before Mayfly's own Node.js may be in place.
 */
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('.', import.meta.url));
// Vite is a development dependency: an installation without those keeps the console that was built before.
const vite = await import('vite').catch((error) => {
  if (!process.argv.includes('--after-install')) throw error;
});
if (!vite) process.exit();
await vite.build({ root, configFile: join(root, 'vite.config.js'), logLevel: 'warn' });
