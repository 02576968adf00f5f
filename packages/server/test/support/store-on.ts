import { type Kit, runOn } from '../../src/database/sql.ts';
import { type ReadSources, type Store, storeOf } from '../../src/store.ts';

/** A store that runs its operations directly on an engine, without threads and hints. */
export const storeOn = (kit: Kit, read?: ReadSources): Store =>
  storeOf(
    (_path, operation, args) => runOn(operation, args, kit),
    { generation: () => null, close: () => kit.close() },
    read,
  );

type Method = (...args: readonly unknown[]) => Promise<unknown>;

/** Calls a method of a store by its path, such as `messages.addBatch`. */
export async function callAt(store: Store, path: string, args: readonly unknown[]): Promise<unknown> {
  const [noun = '', name = ''] = path.split('.');
  const method = (store as unknown as Record<string, Record<string, Method>>)[noun]?.[name];
  if (!method) throw new TypeError(`The store has no operation ${path}.`);
  return method(...args);
}
