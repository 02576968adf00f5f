import { afterEach, expect, test, vi } from 'vitest';
import { SMTPConnection, SMTPServer, SMTPStream } from '../../src/smtp/library.ts';
import { smtpClient } from '../support/smtp-script.ts';
import { startSmtp } from './start-smtp.ts';

afterEach(() => {
  vi.useRealTimers();
});

test('the greeting waits for no timer', async () => {
  const smtp = await startSmtp();
  // From here on nothing that waits for setTimeout goes on.
  vi.useFakeTimers({ toFake: ['setTimeout'] });
  const client = await smtpClient(smtp.port);
  await client.play([{ expect: 220 }]);
  client.close();
  vi.useRealTimers();
  await smtp.stop();
});

test.each([
  [SMTPConnection, ['init', '_setListeners', 'connectionReady', 'send', '_createParser', '_onCommand']],
  [SMTPConnection, ['_resetSession', '_armTimeout', '_onClose', '_isSupported', '_whenWritable', 'close']],
  [SMTPConnection, ['handler_MAIL', 'handler_RCPT', 'handler_DATA', 'handler_STARTTLS', 'upgrade']],
  [SMTPServer, ['connect', 'onData', 'onClose', '_acceptSocket', '_onError']],
  [SMTPServer, ['updateSecureContext', '_upgrade', '_expectsProxyHeader', '_handleProxy']],
  [SMTPStream, ['_write', '_flushData']],
])('smtp-server still has the methods of %o that are overridden or called', (base, names) => {
  const methods = base.prototype as unknown as Record<string, unknown>;
  expect(names.filter((name) => typeof methods[name] !== 'function')).toEqual([]);
});
