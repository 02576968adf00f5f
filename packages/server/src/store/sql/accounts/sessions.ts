import type { SessionStore } from '../../contract/index.ts';
import { SESSION_IDLE_MS, SESSION_MAX_MS } from '../../contract/retention.ts';
import type { Engine } from '../engine.ts';
import { prepare, type Slots } from '../prepared.ts';

/** Sessions of the console. */
export function createSessions({ db, transaction }: Engine): SessionStore {
  const selectByHash = prepare((value: Slots<{ hash: string; usedAfter: number; createdAfter: number }>) =>
    db
      .selectFrom('sessions')
      .selectAll()
      .where('hash', '=', value.hash)
      .where('used_at', '>', value.usedAfter)
      .where('created_at', '>', value.createdAfter),
  );
  return {
    async create({ hash, credentialHash, kind, createdAt }) {
      await transaction((tx) =>
        tx
          .insertInto('sessions')
          .values({ hash, credential_hash: credentialHash, kind, created_at: createdAt, used_at: createdAt })
          .execute(),
      );
    },

    async find(hash, now) {
      const limits = { usedAfter: now - SESSION_IDLE_MS, createdAfter: now - SESSION_MAX_MS };
      const [row] = await selectByHash(db, { hash, ...limits });
      if (!row) return undefined;
      const { credential_hash: credentialHash, kind, created_at: createdAt, used_at: usedAt } = row;
      return { hash, credentialHash, kind, createdAt, usedAt };
    },

    async used(hash, at) {
      await transaction((tx) =>
        tx
          .updateTable('sessions')
          .set({ used_at: at })
          .where('hash', '=', hash)
          .where('used_at', '<', at)
          .execute(),
      );
    },

    async delete(hash) {
      await transaction((tx) => tx.deleteFrom('sessions').where('hash', '=', hash).execute());
    },
  };
}
