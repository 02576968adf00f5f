import { execFile } from 'node:child_process';
import { connect } from 'node:net';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { onTestFinished } from 'vitest';
import { RawClient } from '../support/raw-client.ts';

const SCRIPT = join(import.meta.dirname, 'poplib-calls.py');

export type Call = [method: string, ...values: (string | number)[]];

/** Python's poplib, as programs use it. @returns the results of the calls */
export async function poplib(port: number, calls: Call[]): Promise<unknown[]> {
  const given = JSON.stringify([port, calls]);
  const { stdout } = await promisify(execFile)('python3', [SCRIPT, given], { maxBuffer: 2 ** 26 });
  return JSON.parse(stdout);
}

export const logIn = (user: string, password: string): Call[] => [
  ['user', user],
  ['pass_', password],
];

export class PopClient extends RawClient {
  /** @returns '' when the connection ends before that */
  #through(end: string): Promise<string> {
    return this.take((text) => (text.includes(end) ? text.indexOf(end) + end.length : 0));
  }

  /** The next line without CRLF; '' when the server closed the connection instead. */
  async line(): Promise<string> {
    return (await this.#through('\r\n')).trimEnd();
  }

  /** Sends a line. @returns the first line of the reply */
  say(line: string): Promise<string> {
    this.socket.write(`${line}\r\n`);
    return this.line();
  }

  /** The lines of a reply behind the first, as they are on the wire. */
  async rest(): Promise<string> {
    return (await this.#through('\r\n.\r\n')).slice(0, -'.\r\n'.length);
  }
}

/** Connected until the test ends, with the greeting read. */
export async function popClient(port: number): Promise<PopClient> {
  const client = new PopClient(connect(port, '127.0.0.1'));
  onTestFinished(() => void client.socket.destroy());
  await client.line();
  return client;
}

/** Logged in. */
export async function openSession(port: number, user: string, password: string): Promise<PopClient> {
  const client = await popClient(port);
  await client.say(`USER ${user}`);
  const reply = await client.say(`PASS ${password}`);
  if (!reply.startsWith('+OK')) throw new Error(reply);
  return client;
}
