/** The baseline of reading: node:http alone, which answers the bytes of a file. Arguments: the file, its headers as JSON. */
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

const [, , file = '', headers = '{}'] = process.argv;
const bytes = readFileSync(file);
const sent: Record<string, string> = JSON.parse(headers);
const server = createServer((_request, response) => {
  response.writeHead(200, sent);
  response.end(bytes);
});
server.listen(0, '127.0.0.1', () => {
  console.log(`ready on ${(server.address() as AddressInfo).port}`);
});
process.once('SIGTERM', () => process.exit());
