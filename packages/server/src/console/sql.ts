import { DAY_MS, HOUR_MS } from '../clock.ts';
import { read, sql, write } from '../database/sql.ts';

/** A session without a request for this long ends, so that none survives a night. */
export const SESSION_IDLE_MS = 12 * HOUR_MS;
/** Maximum age of a session, even if it is in use: a stolen cookie works for a week at most. */
export const SESSION_MAX_MS = 7 * DAY_MS;

/** A browser that is signed in to the console. It has the rights of its credential while the credential is valid. */
export interface SessionRecord {
  hash: string;
  /** Hash of the API key or read token with which the browser signed in. */
  credentialHash: string;
  kind: 'key' | 'token';
  createdAt: number;
  usedAt: number;
}

export const sessions = {
  create: write(async (tx, session: Omit<SessionRecord, 'usedAt'>): Promise<void> => {
    const { hash, credentialHash, kind, createdAt } = session;
    await tx.run(
      sql`insert into sessions (hash, credential_hash, kind, created_at, used_at)
        values (${hash}, ${credentialHash}, ${kind}, ${createdAt}, ${createdAt})`,
    );
  }),

  find: read(
    (db, hash: string, now: number): Promise<SessionRecord | undefined> =>
      db.first<SessionRecord>(
        sql`select hash, credential_hash as "credentialHash", kind, created_at as "createdAt", used_at as "usedAt"
        from sessions
        where hash = ${hash} and used_at > ${now - SESSION_IDLE_MS} and created_at > ${now - SESSION_MAX_MS}`,
      ),
  ),

  used: write({ keepsInboxes: true }, async (tx, hash: string, at: number): Promise<void> => {
    await tx.run(sql`update sessions set used_at = ${at} where hash = ${hash} and used_at < ${at}`);
  }),

  delete: write(async (tx, hash: string): Promise<void> => {
    await tx.run(sql`delete from sessions where hash = ${hash}`);
  }),
};
