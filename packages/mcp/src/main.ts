#!/usr/bin/env node
/**
 * `npx @mayfly/mcp`: speaks MCP on standard input and output, with the key of the environment.
 * `npx @mayfly/mcp --http 8030`: on a port of loopback, with the caller's own key as bearer token.
 * Neither needs a key for the server that `mayfly dev` runs on this machine.
 */
import { Mayfly } from '@mayfly/client';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import { serveHttp } from './http.ts';
import { createServer } from './server.ts';

const [flag, port] = process.argv.slice(2);
const url = process.env.MAYFLY_URL;
const fail = (text: string): never => {
  process.stderr.write(`${text}\n`);
  process.exit(1);
};

/** Ends the program for an invalid URL or key, because hosts show early output but no later errors. */
function check(apiKey: string | undefined): void {
  try {
    new Mayfly({ url, apiKey });
  } catch (error) {
    fail((error as Error).message);
  }
}

if (flag === '--http') {
  const number = Number(port);
  if (!port || !Number.isInteger(number) || number > 65_535) fail('Usage: mayfly-mcp --http <port>');
  check('the-key-of-each-caller');
  const { address } = await serveHttp({ port: number, mayflyUrl: url });
  process.stderr.write(`MCP on ${address}: callers send their Mayfly API key as bearer token.\n`);
} else if (flag !== undefined) {
  fail('Usage: mayfly-mcp [--http <port>]\nEnvironment: MAYFLY_URL, MAYFLY_API_KEY.');
} else {
  const apiKey = process.env.MAYFLY_API_KEY;
  check(apiKey);
  serveStdio(() => createServer({ url, apiKey }));
}
