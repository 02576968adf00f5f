import { readdirSync, readFileSync } from 'node:fs';

/*
 * npm runs a script as `sh -c "mayfly serve"` and passes SIGTERM and SIGINT to that shell only. Some shells
 * (bash) replace themselves by a simple command; others (dash, the sh of Debian and Ubuntu) start it as a
 * child: SIGTERM ends them and orphans the child, SIGINT they keep until the child ends. `npm start` avoids
 * this by `exec` in package.json; `npx mayfly` cannot. So a server that npm started in the foreground watches
 * the processes above it.
 */

/** A simple command that runs `mayfly`: optionally after assignments, `exec` or `cross-env`. */
const RUNS_MAYFLY = /^\s*(?:exec\s+|cross-env\s+|\w+=\S*\s+)*['"]?(?:\S*\/)?mayfly['"]?(?:\s|$)/;
/** `mayfly dev & …`: the script means the server to outlive its shell. `&&`, `2>&1` and `&>` are other things. */
const RUNS_IN_BACKGROUND = /(?<![&>])&(?![&>])/;

/**
 * True when npm (or another runner that sets npm's variables) started this process as the foreground command
 * of a script or of `npx mayfly`.
 * @param env the environment of the process
 */
export function isForegroundScript(env: Record<string, string | undefined>): boolean {
  const { npm_lifecycle_script: script = '' } = env;
  return RUNS_MAYFLY.test(script) && !RUNS_IN_BACKGROUND.test(script);
}

/** A file below `/proc`; undefined where the process is gone, and on systems other than Linux. */
function procFile(path: string): string | undefined {
  try {
    return readFileSync(`/proc/${path}`, 'latin1');
  } catch {
    return undefined;
  }
}

/** True for a process that was started as `sh -c …`. */
const isShell = (pid: number): boolean => procFile(`${pid}/cmdline`)?.split('\0')[1] === '-c';

interface Status {
  parent: string | undefined;
  /** How often it went to sleep. What waits without a time limit sleeps until a signal wakes it. */
  sleeps: string | undefined;
}

/** proc(5). @param path a process id, or `self/task/…` for a thread */
function statusOf(path: string): Status {
  const status = procFile(`${path}/status`) ?? '';
  return {
    parent: /^PPid:\s+(\d+)/m.exec(status)?.[1],
    sleeps: /^voluntary_ctxt_switches:\s+(\d+)/m.exec(status)?.[1],
  };
}

/** A thread of Node.js that sleeps until SIGUSR1, which is not sent. */
const IDLE_THREAD = 'SignalInspector';

function findIdleThread(): string | undefined {
  try {
    const threads = readdirSync('/proc/self/task').map((id) => `self/task/${id}`);
    return threads.find((thread) => procFile(`${thread}/comm`)?.trim() === IDLE_THREAD);
  } catch {
    return undefined;
  }
}

/** Looks for which the shell is not judged after everything was paused: it may wake once more. */
const SETTLE_LOOKS = 2;

/**
 * Finds out that a shell, which waits for its command, got a signal. Ctrl+Z and `fg`, a frozen container and a
 * suspended laptop wake it too, but they wake every thread of this process as well.
 */
class ShellWatch {
  readonly #shell: string;
  readonly #idleThread = findIdleThread();
  #shellSleeps: string | undefined;
  #ownSleeps: string | undefined;
  #settling = 0;
  #isSuspected = false;

  constructor(shell: number) {
    this.#shell = String(shell);
    this.#shellSleeps = statusOf(this.#shell).sleeps;
    this.#ownSleeps = this.#idleThread && statusOf(this.#idleThread).sleeps;
  }

  /** @returns true when it got one, seen in two calls in a row */
  gotSignal(shellSleeps: string | undefined): boolean {
    if (this.#idleThread === undefined) return false;
    const ownSleeps = statusOf(this.#idleThread).sleeps;
    if (ownSleeps !== this.#ownSleeps) this.#settling = SETTLE_LOOKS;
    else if (this.#settling > 0) this.#settling -= 1;
    else if (shellSleeps !== this.#shellSleeps) {
      const wasSuspected = this.#isSuspected;
      this.#isSuspected = true;
      return wasSuspected;
    }
    this.#ownSleeps = ownSleeps;
    this.#shellSleeps = shellSleeps;
    this.#isSuspected = false;
    return false;
  }
}

export type ParentEvent = 'parent exited' | 'SIGINT to npm';

/**
 * Watches the process that started this one and, where that is npm's shell, npm.
 * @param initial the parent when this process began
 * @param current reads the parent now
 * @returns a function to be called again and again; it returns what happened: the parent or npm is gone, or
 *   the shell got a signal that it keeps to itself
 */
export function watchParent(initial: number, current: () => number): () => ParentEvent | null {
  const shell = isShell(initial) ? new ShellWatch(initial) : null;
  const npm = statusOf(String(initial)).parent;
  return () => {
    if (current() !== initial) return 'parent exited';
    if (shell === null) return null;
    const { parent, sleeps } = statusOf(String(initial));
    // SIGKILL ends npm, and not its shell.
    if (parent !== npm) return 'parent exited';
    return shell.gotSignal(sleeps) ? 'SIGINT to npm' : null;
  };
}
