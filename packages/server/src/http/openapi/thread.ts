import { parentPort, workerData } from 'node:worker_threads';
import { openapiDocument } from './document.ts';

/** The entry of the thread that makes the API description, as JSON; see routes/reference.ts. */
parentPort?.postMessage(JSON.stringify(await openapiDocument(workerData)));
