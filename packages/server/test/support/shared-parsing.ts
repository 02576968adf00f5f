import { Parsing } from '../../src/reading/parsing.ts';

let parsing: Parsing | undefined;

/**
 * @returns the parse workers that all servers of a test process share, because starting a worker takes as long as
 * starting a server
 */
export function sharedParsing(): Parsing {
  parsing ??= new Parsing();
  return parsing;
}
