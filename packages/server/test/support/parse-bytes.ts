import type { ParseRequest, Parsing } from '../../src/reading/parsing.ts';

/** Parses a copy of the bytes, since large ones are transferred to the worker. */
export const parseBytes = (parsing: Parsing, raw: Uint8Array, request?: ParseRequest) =>
  parsing.parse({ size: raw.length, load: () => Buffer.from(raw) }, request);
