import { Parsing } from '../../src/reading/parsing.ts';

let parsing: Parsing | undefined;

/**
 * The parse workers of all servers of a test process, which go with it. To start a worker takes as long as to start
 * a server.
 */
export function sharedParsing(): Parsing {
  parsing ??= new Parsing();
  return parsing;
}
