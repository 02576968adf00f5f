/**
 * `mayfly serve` for the tests that kill it: the same app, with retries that come soon. Its settings
 * are the environment's.
 */
import { createApp } from '../../../src/app.ts';
import { parseConfig } from '../../../src/config/config.ts';

/** So many that a receiver which fails now and then never makes a delivery run out of attempts. */
const RETRIES = 60;

const RETRY_MS = 100;

const app = createApp(parseConfig(process.env), { retryDelays: Array(RETRIES).fill(RETRY_MS) });
const { http, smtp } = await app.start();
process.stdout.write(`${JSON.stringify({ http, smtp, msg: 'Mayfly is ready' })}\n`);
