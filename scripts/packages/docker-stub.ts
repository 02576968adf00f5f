/*
 * A stub of the part of the Docker Engine API that Testcontainers uses, on a Unix socket. A container is a process on
 * this machine: the command of the container, with its environment, on free ports instead of its own.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { json } from 'node:stream/consumers';
import { freePort } from './try-tools.ts';

/** What `POST /containers/create` carries, as far as it is used. */
interface Create {
  Image: string;
  Cmd?: string[];
  Env?: string[];
  ExposedPorts?: Record<string, object>;
  Labels?: Record<string, string>;
}

interface Container {
  id: string;
  create: Create;
  /** Of `8025/tcp` and others: the port on this machine. */
  ports: Record<string, number>;
  process: ChildProcess | undefined;
}

/** The settings of the ports of the container: the process listens on the port of the host. */
const PORT_SETTINGS: Record<string, string> = {
  '8025/tcp': 'MAYFLY_HTTP_PORT',
  '2525/tcp': 'MAYFLY_SMTP_PORT',
};

const hasEnded = ({ exitCode, signalCode }: ChildProcess) => exitCode !== null || signalCode !== null;

/** @param cwd where the commands of containers run */
export async function startDockerStub(socket: string, cwd: string, env: NodeJS.ProcessEnv) {
  const containers = new Map<string, Container>();
  /** Containers that were created, for tests. */
  const created: Create[] = [];

  const inspect = ({ id, create, ports, process }: Container) => {
    const Running = process !== undefined && !hasEnded(process);
    return {
      Id: id,
      Name: `/${id.slice(0, 8)}`,
      State: { Running, Status: Running ? 'running' : 'exited', StartedAt: new Date().toISOString() },
      Config: { ...create, Hostname: id.slice(0, 12) },
      HostConfig: { PortBindings: {} },
      NetworkSettings: {
        Ports: Object.fromEntries(
          Object.entries(ports).map(([name, port]) => [
            name,
            [{ HostIp: '0.0.0.0', HostPort: String(port) }],
          ]),
        ),
        Networks: {},
      },
    };
  };

  async function make(create: Create): Promise<Container> {
    const id = randomBytes(32).toString('hex');
    const ports: Record<string, number> = {};
    for (const name of Object.keys(create.ExposedPorts ?? {})) ports[name] = await freePort();
    const container = { id, create, ports, process: undefined };
    containers.set(id, container);
    created.push(create);
    return container;
  }

  function start(container: Container): void {
    const [program = '', ...args] = container.create.Cmd ?? [];
    const given = Object.fromEntries(
      (container.create.Env ?? []).map((pair) => [
        pair.slice(0, pair.indexOf('=')),
        pair.slice(pair.indexOf('=') + 1),
      ]),
    );
    const ports = Object.fromEntries(
      Object.entries(container.ports).map(([name, port]) => [PORT_SETTINGS[name] ?? name, String(port)]),
    );
    const settings = { ...given, ...ports, MAYFLY_METRICS_PORT: '0' };
    const hosts = { MAYFLY_HTTP_HOST: '127.0.0.1', MAYFLY_SMTP_HOST: '127.0.0.1' };
    const data = { MAYFLY_DATA_DIR: `${socket}.data-${container.id.slice(0, 8)}` };
    container.process = spawn(program, args, {
      cwd,
      env: { ...env, ...settings, ...hosts, ...data },
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    container.process.stdout?.resume();
  }

  /** Ends the process, and waits for the server that `npx` started, which closes its pipes last. */
  async function stop({ process }: Container): Promise<void> {
    if (!process || hasEnded(process)) return;
    const closed = new Promise((resolve) => process.once('close', resolve));
    process.kill('SIGTERM');
    await closed;
  }

  const send = (response: ServerResponse, status: number, body?: unknown) => {
    response.writeHead(status, {
      'content-type': 'application/json',
      'api-version': '1.44',
      ostype: 'linux',
    });
    response.end(body === undefined ? undefined : JSON.stringify(body));
  };

  async function ofContainer(request: IncomingMessage, response: ServerResponse, id: string, action: string) {
    const container = containers.get(id);
    if (!container) return send(response, 404, { message: `No such container: ${id}` });
    if (request.method === 'DELETE') {
      await stop(container);
      containers.delete(id);
      return send(response, 204);
    }
    if (action === 'json') return send(response, 200, inspect(container));
    if (action === 'start') start(container);
    if (action === 'stop' || action === 'kill') await stop(container);
    return send(response, action === 'logs' ? 200 : 204);
  }

  async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = (request.url ?? '').replace(/^\/v[\d.]+/, '').replace(/\?.*/, '');
    const [, id = '', action = ''] = /^\/containers\/([^/]+)(?:\/(\w+))?$/.exec(path) ?? [];
    if (path === '/_ping') return send(response, 200, 'OK');
    if (path === '/version') return send(response, 200, { ApiVersion: '1.44', MinAPIVersion: '1.24' });
    if (path === '/info')
      return send(response, 200, { ServerVersion: '27', OperatingSystem: 'stub', OSType: 'linux' });
    if (path.startsWith('/images/')) return send(response, 200, { Id: 'sha256:stub', RepoTags: [] });
    if (path === '/containers/create') {
      const { id: made } = await make((await json(request)) as Create);
      return send(response, 201, { Id: made, Warnings: [] });
    }
    if (id === 'json') {
      // By id or by label.
      const filters = decodeURIComponent(request.url ?? '');
      const found = [...containers.values()].filter(
        (one) =>
          filters.includes(one.id) ||
          Object.entries(one.create.Labels ?? {}).some(([name, value]) =>
            filters.includes(`${name}=${value}`),
          ),
      );
      return send(
        response,
        200,
        found.map((one) => ({ Id: one.id, Labels: one.create.Labels })),
      );
    }
    if (id) return ofContainer(request, response, id, action);
    return send(response, 404, { message: `The stub does not know ${request.method} ${request.url}.` });
  }

  const server = createServer((request, response) => {
    handle(request, response).catch((error) => send(response, 500, { message: String(error) }));
  });
  await new Promise<void>((resolve) => server.listen(socket, resolve));
  return {
    created,
    close: async () => {
      for (const container of containers.values()) await stop(container);
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
