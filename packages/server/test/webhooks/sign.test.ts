import { Webhook } from 'standardwebhooks';
import { describe, expect, it } from 'vitest';
import { newWebhookSecret, signatureHeaders } from '../../src/webhooks/sign.ts';

// The reference library judges the timestamp by the real time and takes no other.
const now = () => Math.floor(Date.now() / 1000);
const body = JSON.stringify({ id: 'evt_1', type: 'message.received', subject: 'Grüße 🦋' });

describe('the signature of a delivery', () => {
  it('is accepted by the Standard Webhooks reference library', () => {
    const secret = newWebhookSecret();
    const headers = signatureHeaders({ id: 'evt_1', timestampSeconds: now(), body, secrets: [secret] });
    expect(new Webhook(secret).verify(body, headers)).toEqual(JSON.parse(body));
  });

  it('is, for a known secret, the one that the reference library makes', () => {
    const secret = newWebhookSecret(Buffer.alloc(32, 7));
    expect(secret).toBe('whsec_BwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwc=');
    const signed = { id: 'evt_9', timestampSeconds: 1_767_225_600, body, secrets: [secret] };
    expect(signatureHeaders(signed)).toEqual({
      'webhook-id': 'evt_9',
      'webhook-timestamp': '1767225600',
      'webhook-signature': new Webhook(secret).sign('evt_9', new Date(1_767_225_600_000), body),
    });
  });

  it.each([
    ['a changed body', body.replace('received', 'receivee'), {}],
    ['another id', body, { 'webhook-id': 'evt_2' }],
    ['another time', body, { 'webhook-timestamp': String(now() - 10) }],
    ['a changed signature', body, { 'webhook-signature': `v1,${Buffer.alloc(32).toString('base64')}` }],
  ])('does not fit %s', (_what, payload, changed) => {
    const secret = newWebhookSecret();
    const headers = signatureHeaders({ id: 'evt_1', timestampSeconds: now(), body, secrets: [secret] });
    expect(() => new Webhook(secret).verify(payload, { ...headers, ...changed })).toThrow();
  });

  it('fits both secrets while a rotation lasts, and no third', () => {
    const [newer, older, other] = [newWebhookSecret(), newWebhookSecret(), newWebhookSecret()];
    const headers = signatureHeaders({ id: 'evt_1', timestampSeconds: now(), body, secrets: [newer, older] });
    expect(headers['webhook-signature']).toMatch(/^v1,\S{44} v1,\S{44}$/);
    expect(new Webhook(newer).verify(body, headers)).toBeTruthy();
    expect(new Webhook(older).verify(body, headers)).toBeTruthy();
    expect(() => new Webhook(other).verify(body, headers)).toThrow('No matching signature');
  });
});
