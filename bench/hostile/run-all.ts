import type { Bench } from '../support/rows.ts';
import { manyBombSenders } from './bombs.ts';
import { massDeletion } from './deletion.ts';
import { hostileHttp } from './http.ts';
import { largeMails } from './large-mails.ts';
import { hostilePreviews } from './previews.ts';
import { slowSmtpSenders } from './smtp.ts';
import { hostileWaits } from './waits.ts';

/** What one sender or client can do to others, one part after the other. */
const PARTS: readonly Bench[] = [
  manyBombSenders,
  slowSmtpSenders,
  largeMails,
  hostileHttp,
  hostileWaits,
  massDeletion,
  hostilePreviews,
];

export async function hostile() {
  const rows = [];
  for (const part of PARTS) rows.push(...(await part()));
  return rows;
}
