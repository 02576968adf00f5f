import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import ipaddr from 'ipaddr.js';

/** The records of each name by type, or an error, or no response at all; `*` stands for all other names. */
export type Zone = Record<string, Partial<Record<RecordType, Records>> | 'servfail' | 'silent'>;
/**
 * A, AAAA: addresses. TXT: texts. MX: hosts. PTR, CNAME: names. A function is called for each query; `earlier` is the
 * number of earlier queries of the same kind.
 */
type Records = string[] | 'servfail' | ((earlier: number) => string[]);
type RecordType = keyof typeof TYPES;

export type NameServer = Awaited<ReturnType<typeof startNameServer>>;

const TYPES = { A: 1, CNAME: 5, PTR: 12, MX: 15, TXT: 16, AAAA: 28 } as const;
const NO_ERROR = 0;
const SERVFAIL = 2;
const NXDOMAIN = 3;

/** Starts a name server on loopback (RFC 1035 section 4). */
export async function startNameServer(zone: Zone = {}) {
  const socket = createSocket('udp4');
  const questions: string[] = [];
  const watchers = new Set<() => void>();
  const server = {
    /** `address:port`. */
    address: '',
    /** The records, which a test may change. */
    zone,
    /** The queries in order, such as `TXT shop.test`. */
    questions,
    /** Resolves when this query has arrived. */
    untilAsked: (question: string) =>
      new Promise<void>((resolve) => {
        const look = () => {
          if (!questions.includes(question)) return;
          watchers.delete(look);
          resolve();
        };
        watchers.add(look);
        look();
      }),
    close: () => void socket.close(),
  };
  socket.on('message', (query, from) => {
    const { name, end } = readName(query);
    const code = query.readUInt16BE(end);
    const type = Object.entries(TYPES).find(([, one]) => one === code)?.[0] ?? String(code);
    const question = `${type} ${name}`;
    const earlier = questions.filter((asked) => asked === question).length;
    questions.push(question);
    for (const look of [...watchers]) look();
    const known = server.zone[name] ?? server.zone['*'];
    if (known === 'silent') return;
    const found = typeof known === 'object' ? (known[type as RecordType] ?? []) : (known ?? 'nxdomain');
    const records = typeof found === 'function' ? found(earlier) : found;
    socket.send(answerTo(query, end + 4, code, records), from.port, from.address);
  });
  socket.bind(0, '127.0.0.1');
  await once(socket, 'listening');
  server.address = `127.0.0.1:${socket.address().port}`;
  return server;
}

function readName(query: Buffer): { name: string; end: number } {
  const labels: string[] = [];
  let at = 12;
  for (let length = query.readUInt8(at); length > 0; length = query.readUInt8(at)) {
    labels.push(query.toString('latin1', at + 1, at + 1 + length));
    at += 1 + length;
  }
  return { name: labels.join('.').toLowerCase(), end: at + 1 };
}

function answerTo(
  query: Buffer,
  endOfQuestion: number,
  type: number,
  found: string[] | 'servfail' | 'nxdomain',
): Buffer {
  const texts = typeof found === 'string' ? [] : found;
  const result = found === 'servfail' ? SERVFAIL : found === 'nxdomain' ? NXDOMAIN : NO_ERROR;
  const header = Buffer.alloc(12);
  query.copy(header, 0, 0, 2);
  header.writeUInt16BE(0x8180 | result, 2);
  header.writeUInt16BE(1, 4);
  header.writeUInt16BE(texts.length, 6);
  const records = texts.map((text) => {
    const data = dataOf(type, text);
    // A pointer to the name in the question, the type, class IN, TTL 0, the length of the data.
    const head = Buffer.from([0xc0, 0x0c, 0, type, 0, 1, 0, 0, 0, 0, data.length >> 8, data.length & 0xff]);
    return Buffer.concat([head, data]);
  });
  return Buffer.concat([header, query.subarray(12, endOfQuestion), ...records]);
}

function dataOf(type: number, text: string): Buffer {
  if (type === TYPES.A || type === TYPES.AAAA) return Buffer.from(ipaddr.parse(text).toByteArray());
  if (type === TYPES.TXT) {
    const pieces = text.match(/.{1,255}/gs) ?? [''];
    return Buffer.concat(pieces.map((piece) => Buffer.from([piece.length, ...Buffer.from(piece, 'latin1')])));
  }
  const labels = text.split('.').map((label) => Buffer.from([label.length, ...Buffer.from(label, 'latin1')]));
  const name = Buffer.concat([...labels, Buffer.from([0])]);
  return type === TYPES.MX ? Buffer.concat([Buffer.from([0, 10]), name]) : name;
}
