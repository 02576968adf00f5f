/**
 * `globalSetup: ['@mayfly/vitest/server']`: a Mayfly within the process of Vitest, for all tests of a run.
 * Tests and applications find it by MAYFLY_URL, MAYFLY_API_KEY, MAYFLY_SMTP_HOST and MAYFLY_SMTP_PORT. If
 * MAYFLY_URL is set, that server is used instead. Needs the package `mayfly` and its Node.js.
 */

interface Running {
  url: string;
  smtp: { host: string; port: number };
  apiKey: string;
  stop(): Promise<void>;
}

/** Not a literal type, because the package need not be installed. */
const SERVER: string = 'mayfly';

async function load(): Promise<{ startMayfly(): Promise<Running> }> {
  try {
    return await import(SERVER);
  } catch (cause) {
    throw new Error(
      'The package "mayfly" cannot be loaded. Install it beside @mayfly/vitest, with Node.js 24.15 or newer, or set MAYFLY_URL to a server that runs.',
      { cause },
    );
  }
}

export default async function setup(): Promise<(() => Promise<void>) | undefined> {
  if (process.env.MAYFLY_URL) return undefined;
  const { startMayfly } = await load();
  const { url, smtp, apiKey, stop } = await startMayfly();
  const found = {
    MAYFLY_URL: url,
    MAYFLY_API_KEY: apiKey,
    MAYFLY_SMTP_HOST: smtp.host,
    MAYFLY_SMTP_PORT: String(smtp.port),
  };
  Object.assign(process.env, found);
  return async () => {
    for (const name of Object.keys(found)) delete process.env[name];
    await stop();
  };
}
