import type { IncomingMessage } from 'node:http';
import type { App } from '../context.ts';
import { bodyOf } from './chunked-body.ts';

/**
 * Tells a client that sent `Expect: 100-continue` (RFC 9110 section 10.1.1) to send its body only once the
 * request has passed the checks of its header: credential, path, size. A request that fails them gets its
 * response instead, and the connection is closed, because the client may or may not send the body then. Every other
 * expectation is ignored: the response that Node would give is no problem document and passes no check.
 */
export function respondToExpect(app: App): void {
  const waiting = new WeakSet<IncomingMessage>();
  app.server.on('checkContinue', (request, response) => {
    waiting.add(request);
    response.setHeader('connection', 'close');
    app.server.emit('request', request, response);
  });
  app.server.on('checkExpectation', (request, response) => app.server.emit('request', request, response));
  app.addHook('preParsing', (request, reply, _payload, done) => {
    if (request.headers.expect !== undefined && waiting.delete(request.raw)) {
      reply.raw.removeHeader('connection');
      reply.raw.writeContinue();
    }
    done(null, bodyOf(request.raw));
  });
}
