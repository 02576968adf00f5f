import type { FastifyRequest } from 'fastify';
import { AppError } from '../../errors.ts';
import { nearest, quoted } from '../../text/nearest.ts';
import type { App } from '../context.ts';

const MAX_SEGMENTS = 10;

interface KnownPath {
  /** `/v1/inboxes/{id}`, as the API description writes it. */
  shown: string;
  segments: string[];
  pattern: RegExp;
  parameters: number;
  methods: Set<string>;
  /** True for the operations of the API description; other paths are not suggested. */
  isDocumented: boolean;
}

export type KnownPaths = Map<string, KnownPath>;

/** Collects the routes that are registered afterwards. A route without a declared access fails at start. */
export function collectPaths(app: App): KnownPaths {
  const known: KnownPaths = new Map();
  app.addHook('onRoute', ({ url, method, config, schema }) => {
    if (!config?.access) throw new Error(`${method} ${url} declares no access`);
    const path = known.get(url) ?? {
      shown: url.replaceAll(/:(\w+)/g, '{$1}'),
      segments: segmentsOf(url),
      pattern: new RegExp(`^${url.replaceAll('.', '\\.').replaceAll(/:\w+/g, '[^/]+').replace('*', '.*')}$`),
      parameters: url.match(/[:*]/g)?.length ?? 0,
      methods: new Set<string>(),
      isDocumented: false,
    };
    known.set(url, path);
    path.isDocumented ||= schema?.operationId !== undefined;
    for (const one of [method].flat()) path.methods.add(one);
  });
  return known;
}

/** Without empty segments: doubled and trailing slashes do not count. */
const segmentsOf = (path: string): string[] => path.split('/').filter(Boolean);

function decoded(path: string): string {
  try {
    return decodeURI(path);
  } catch {
    return path;
  }
}

/** The path below `/v1`, without another version or the prefix `api`, to suggest the right path. */
function belowVersion([first = '', ...rest]: string[]): string[] {
  if (first === 'api') return belowVersion(rest);
  return /^v\d+$/i.test(first) ? ['v1', ...rest] : ['v1', first, ...rest];
}

function mistakes(given: string[], known: string[]): number {
  if (given.length !== known.length) return Number.POSITIVE_INFINITY;
  let count = 0;
  for (const [index, name] of known.entries()) {
    const segment = given[index] ?? '';
    if (name.startsWith(':') || segment === name) continue;
    if (nearest(segment, [name]) === undefined) return Number.POSITIVE_INFINITY;
    count++;
  }
  return count;
}

function nearestOperation(path: string, method: string, known: KnownPaths): string | undefined {
  const given = segmentsOf(path);
  if (given.length === 0 || given.length > MAX_SEGMENTS) return undefined;
  const segments = belowVersion(given);
  let best: KnownPath | undefined;
  let fewest = Number.POSITIVE_INFINITY;
  for (const one of known.values()) {
    if (!one.isDocumented) continue;
    // Of two equally near paths, prefer the one that supports the method.
    const count = mistakes(segments, one.segments) + (one.methods.has(method) ? 0 : 0.5);
    if (count < fewest) [best, fewest] = [one, count];
  }
  if (!best) return undefined;
  const [first = ''] = best.methods;
  return `${best.methods.has(method) ? method : first} ${best.shown}`;
}

/** The error for a path without a route. @param suggestion a sentence with a leading space, or '' */
export function unknownPath(url: string, suggestion = ''): AppError {
  const path = decoded(url.split('?', 1)[0] ?? '');
  const message = `Nothing is at the path ${quoted(path)}.${suggestion} The API is described at /docs.`;
  return new AppError('not_found', message);
}

/** For a request that no route matches: no such path, or none with that method (RFC 9110 section 15.5.6). */
export function nothingThere({ url, method }: Pick<FastifyRequest, 'url' | 'method'>, known: KnownPaths) {
  const path = decoded(url.split('?', 1)[0] ?? '');
  const matching = [...known.values()].filter(({ pattern }) => pattern.test(path));
  // Prefer a path without parameters: its last segment is not an id.
  const fewest = Math.min(...matching.map(({ parameters }) => parameters));
  const methods = matching.flatMap((one) => (one.parameters === fewest ? [...one.methods] : []));
  if (methods.length > 0) {
    const allow = [...new Set(methods)].sort();
    const message = `The path ${quoted(path)} does not support ${quoted(method)}. Use ${allow.join(', ')}.`;
    return new AppError('method_not_allowed', message, { allow });
  }
  const operation = nearestOperation(path, method, known);
  return unknownPath(url, operation === undefined ? '' : ` Did you mean ${operation}?`);
}
