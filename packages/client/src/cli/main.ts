#!/usr/bin/env node
/** `mf`: the command line of the users of Mayfly. The operator's is `mayfly`. */
import { run } from './run.ts';

const interrupted = new AbortController();
process.once('SIGINT', () => interrupted.abort(new Error('interrupted')));
process.stdout.on('error', () => process.exit(0)); // `mf tail | head` closes the pipe

process.exitCode = await run(process.argv.slice(2), {
  env: process.env,
  out: (text) => void process.stdout.write(text),
  note: (text) => void process.stderr.write(text),
  isTerminal: process.stderr.isTTY && process.env.TERM !== 'dumb',
  signal: interrupted.signal,
});
