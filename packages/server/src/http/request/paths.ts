import type { FastifyRequest } from 'fastify';
import { AppError } from '../../errors.ts';
import { quoted } from '../../text/nearest.ts';
import type { App } from '../context.ts';

export type KnownPaths = Map<string, { pattern: RegExp; parameters: number; methods: Set<string> }>;

/** Collects the routes that are registered afterwards. @throws Error for a route without `access` */
export function collectPaths(app: App): KnownPaths {
  const known: KnownPaths = new Map();
  app.addHook('onRoute', ({ url, method, config }) => {
    if (!config?.access) throw new Error(`${method} ${url} declares no access`);
    const path = known.get(url) ?? {
      pattern: new RegExp(`^${url.replaceAll('.', '\\.').replaceAll(/:\w+/g, '[^/]+').replace('*', '.*')}$`),
      parameters: url.match(/[:*]/g)?.length ?? 0,
      methods: new Set<string>(),
    };
    known.set(url, path);
    for (const one of [method].flat()) path.methods.add(one);
  });
  return known;
}

function pathOf(url: string): string {
  const path = url.split('?', 1)[0] ?? '';
  try {
    return decodeURI(path);
  } catch {
    return path;
  }
}

export const unknownPath = (url: string, advice = 'The API is described at /docs.'): AppError =>
  new AppError('not_found', `Nothing is at the path ${quoted(pathOf(url))}. ${advice}`);

/** Error for a request without a route: the path is unknown, or it has only other methods (RFC 9110 section 15.5.6). */
export function nothingThere({ url, method }: Pick<FastifyRequest, 'url' | 'method'>, known: KnownPaths) {
  const path = pathOf(url);
  const matching = [...known.values()].filter(({ pattern }) => pattern.test(path));
  // The most specific path has the fewest parameters.
  const fewest = Math.min(...matching.map(({ parameters }) => parameters));
  const methods = matching.flatMap((one) => (one.parameters === fewest ? [...one.methods] : []));
  if (methods.length === 0) return unknownPath(url);
  const allow = [...new Set(methods)].sort();
  const message = `The path ${quoted(path)} does not support ${quoted(method)}. Use ${allow.join(', ')}.`;
  return new AppError('method_not_allowed', message, { allow });
}
