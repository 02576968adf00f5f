/** The baseline of reading: node:http alone, which answers the bytes of a file. Arguments: the file, its type. */
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

const [, , file = '', contentType = ''] = process.argv;
const bytes = readFileSync(file);
const server = createServer((_request, response) => {
  response.writeHead(200, { 'content-type': contentType, 'content-length': bytes.length });
  response.end(bytes);
});
server.listen(0, '127.0.0.1', () => {
  console.log(`ready on ${(server.address() as AddressInfo).port}`);
});
process.once('SIGTERM', () => process.exit());
