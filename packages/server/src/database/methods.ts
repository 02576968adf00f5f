import { AppError } from '../errors.ts';
import { operations, type Store } from '../store.ts';
import { callRead, type Operation } from './operations.ts';

type Nouns = Omit<Store, 'ping' | 'close' | 'generation'>;

/** A method of the Store by its path, such as `messages.addBatch`. */
export type MethodPath = { [N in keyof Nouns]: `${N}.${keyof Nouns[N] & string}` }[keyof Nouns] | 'ping';

/** The kind of an operation; `add` writes, but changes no inbox, address or owner except by adding messages. */
export type MethodKind = 'read' | 'search' | 'write' | 'add';

type OwnPath = Exclude<MethodPath, `${keyof typeof operations}.${string}`>;

const OWN: Readonly<Record<OwnPath, MethodKind>> = {
  ping: 'write',
};

const kindOf = ({ kind, traits }: Operation<never, unknown>): MethodKind => {
  if (kind === 'read' || kind === 'search') return kind;
  return traits.keepsInboxes ? 'add' : 'write';
};

export function mayUseReserve(path: MethodPath): boolean {
  const [noun = '', name = ''] = path.split('.');
  const table: Record<string, Record<string, Operation<never, unknown>>> = operations;
  return table[noun]?.[name]?.traits.mayUseReserve === true;
}

export const METHODS = {
  ...OWN,
  ...Object.fromEntries(
    Object.entries(operations).flatMap(([noun, table]) =>
      Object.entries(table).map(([name, operation]) => [`${noun}.${name}`, kindOf(operation)]),
    ),
  ),
} as Readonly<Record<MethodPath, MethodKind>>;

/** `ping` runs as a write but changes nothing. */
export function changesData(path: MethodPath): boolean {
  const kind = METHODS[path];
  return path !== 'ping' && (kind === 'write' || kind === 'add');
}

export const METHOD_PATHS = Object.keys(METHODS) as MethodPath[];

/** Resolves when these sources have readings, or are gone. */
export type ReadSources = (sources: readonly number[]) => Promise<void>;

const noReader: ReadSources = () => Promise.reject(new Error('This process reads no mail.'));

type Method = (...args: unknown[]) => Promise<unknown>;
type AnyStore = Record<string, Record<string, Method> | Method>;

/**
 * The store that callers use: each method calls `invoke`. After an error `storage_damaged`, `ping` throws that error.
 * @param read the gate: see `callRead`
 * @param onDamage called with the first error of each kind of damage
 */
export function storeOf(
  invoke: (path: MethodPath, args: unknown[]) => Promise<unknown>,
  own: Pick<Store, 'close' | 'generation'>,
  read: ReadSources = noReader,
  onDamage: (error: AppError) => void = () => undefined,
): Store {
  const damages = new Map<string, AppError>();
  const failed = (error: unknown): never => {
    if (error instanceof AppError && error.code === 'storage_damaged' && !damages.has(error.message)) {
      damages.set(error.message, error);
      onDamage(error);
    }
    throw error;
  };
  const store: AnyStore = { ...own } as unknown as AnyStore;
  for (const path of METHOD_PATHS) {
    const [noun = '', method] = path.split('.');
    const call: Method = async (...args) => {
      const [damage] = damages.values();
      if (path === 'ping' && damage) throw damage;
      return callRead((next) => invoke(path, [...next]), args, read).catch(failed);
    };
    if (method === undefined) store[noun] = call;
    else store[noun] = { ...store[noun], [method]: call };
  }
  return store as unknown as Store;
}

/** The methods by their paths. TypeScript has checked the arguments at the callers of the Store. */
export function methodsOf(store: Store): Readonly<Record<MethodPath, Method>> {
  const nouns = store as unknown as AnyStore;
  const methods = METHOD_PATHS.map((path) => {
    const [noun = '', name = ''] = path.split('.');
    const member = nouns[noun];
    const method = typeof member === 'function' ? member : member?.[name];
    if (!method) throw new TypeError(`The store has no method ${path}.`);
    return [path, method] as const;
  });
  return Object.fromEntries(methods) as Record<MethodPath, Method>;
}
