import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import ipaddr from 'ipaddr.js';

export type RecordType = 'A' | 'AAAA';
/** Addresses to answer with; `nxdomain`: no such name; `servfail`: broken; `silent`: no answer at all. */
export type DnsAnswer = string[] | 'nxdomain' | 'servfail' | 'silent';

export interface DnsServer {
  /** For `Resolver.setServers`. */
  address: string;
  /** What was asked, in order, such as `A hook.test`. */
  questions: string[];
  close(): void;
}

/** A name server on loopback (RFC 1035 section 4) that answers A and AAAA questions as told. */
export async function startDnsServer(
  answer: (name: string, type: RecordType, nth: number) => DnsAnswer,
): Promise<DnsServer> {
  const socket = createSocket('udp4');
  const questions: string[] = [];
  socket.on('message', (query, from) => {
    const { name, end } = readName(query);
    const type = query.readUInt16BE(end) === 28 ? 'AAAA' : 'A';
    const question = `${type} ${name}`;
    const nth = questions.filter((earlier) => earlier === question).length;
    questions.push(question);
    const told = answer(name, type, nth);
    if (told !== 'silent') socket.send(buildAnswer(query, end + 4, told), from.port, from.address);
  });
  socket.bind(0, '127.0.0.1');
  await once(socket, 'listening');
  return { address: `127.0.0.1:${socket.address().port}`, questions, close: () => socket.close() };
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

function buildAnswer(query: Buffer, endOfQuestion: number, told: string[] | 'nxdomain' | 'servfail'): Buffer {
  const addresses = typeof told === 'string' ? [] : told;
  const header = Buffer.alloc(12);
  query.copy(header, 0, 0, 2);
  const code = told === 'nxdomain' ? 3 : told === 'servfail' ? 2 : 0;
  header.writeUInt16BE(0x8180 | code, 2);
  header.writeUInt16BE(1, 4);
  header.writeUInt16BE(addresses.length, 6);
  const records = addresses.map((address) => {
    const bytes = ipaddr.parse(address).toByteArray();
    // A pointer to the question's name, type, class IN, no time to live, the address.
    const head = Buffer.from([0xc0, 0x0c, 0, bytes.length === 4 ? 1 : 28, 0, 1, 0, 0, 0, 0, 0, bytes.length]);
    return Buffer.concat([head, Buffer.from(bytes)]);
  });
  return Buffer.concat([header, query.subarray(12, endOfQuestion), ...records]);
}
