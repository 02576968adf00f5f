import type { Tx as KitTx } from '../../database/operations.ts';
import type { Engine, Tx } from './engine.ts';

/** What functions on Kysely take. */
interface Kysely {
  tx: Tx;
  engine: Engine;
}

const bridges = new WeakMap<KitTx, Kysely>();

/** Lets operations call functions that are not written as SQL yet. @returns the transaction */
export function addBridge(kit: KitTx, kysely: Kysely): KitTx {
  bridges.set(kit, kysely);
  return kit;
}

/** The same transaction for functions on Kysely. Goes with the last of them. */
export function onKysely(kit: KitTx): Kysely {
  const kysely = bridges.get(kit);
  if (!kysely) throw new TypeError('This is no transaction of a store.');
  return kysely;
}
