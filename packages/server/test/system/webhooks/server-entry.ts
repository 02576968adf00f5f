/**
 * `mayfly serve` for the tests that kill it: the same app, with retries that come soon. Its settings
 * are the environment's; RETRY_MS is the wait after each failed attempt.
 */
import { createApp } from '../../../src/app.ts';
import { parseConfig } from '../../../src/config/config.ts';

/** So many that a receiver which fails now and then never makes a delivery run out of attempts. */
const RETRIES = 60;

const { RETRY_MS = '100', PATH: _, ...settings } = process.env;
const retryDelays = Array.from({ length: RETRIES }, () => Number(RETRY_MS));
const app = createApp(parseConfig(settings), { retryDelays });
const { http, smtp } = await app.start();
process.stdout.write(`${JSON.stringify({ url: http?.url, smtpPort: smtp?.port })}\n`);
