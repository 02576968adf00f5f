/**
 * `mayfly serve` with short delays between the attempts of a webhook delivery.
 */
import { createApp } from '../../../src/app.ts';
import { parseConfig } from '../../../src/config/config.ts';

/** So many that deliveries to a receiver that fails sometimes always succeed. */
const RETRIES = 60;

const RETRY_MS = 100;

const app = createApp(parseConfig(process.env), { retryDelays: Array(RETRIES).fill(RETRY_MS) });
const { http, smtp } = await app.start();
process.stdout.write(`${JSON.stringify({ http, smtp, msg: 'Mayfly is ready' })}\n`);
