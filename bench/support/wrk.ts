import { findProgram, runProgram } from './program.ts';

/** The HTTP load generator; undefined where it is not installed. */
export const wrkProgram = findProgram('wrk');
export const NO_WRK = 'needs wrk, which is not here';

const CONNECTIONS = 32;
const MARGIN_SECONDS = 10;
const MILLISECONDS: Readonly<Record<string, number>> = { us: 0.001, ms: 1, s: 1000 };

export interface Load {
  url: string;
  /** The bearer credential, if one is needed. */
  key?: string;
  seconds: number;
  /** A file in Lua that says which requests to send. */
  script?: string;
}

/** Sends as many requests as are answered. @throws Error when one is not answered with 2xx */
export async function wrk({ url, key, seconds, script }: Load): Promise<{ rate: number; p99: number }> {
  if (wrkProgram === undefined) throw new Error(NO_WRK);
  const args = ['-t1', `-c${CONNECTIONS}`, `-d${seconds}s`, '--latency'];
  if (key !== undefined) args.push('-H', `Authorization: Bearer ${key}`);
  if (script !== undefined) args.push('-s', script);
  const { output } = await runProgram(wrkProgram, [...args, url], seconds + MARGIN_SECONDS);
  if (/Non-2xx|Socket errors/.test(output)) throw new Error(`wrk met failures:\n${output}`);
  const [, value, unit = ''] = /99%\s+([\d.]+)(us|ms|s)/.exec(output) ?? [];
  return {
    rate: Number(/Requests\/sec:\s+([\d.]+)/.exec(output)?.[1]),
    p99: Number(value) * (MILLISECONDS[unit] ?? Number.NaN),
  };
}
