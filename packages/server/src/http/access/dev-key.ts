import type { FastifyRequest } from 'fastify';
import { AppError } from '../../errors.ts';
import { hashCredential } from '../../ids.ts';
import type { AccountRecord } from '../../store/contract/index.ts';
import type { KeyCaller } from './credential.ts';
import { foreignPage, isLoopbackHost } from './session.ts';

/*
 * The development key: with `mayfly dev` on loopback, `Authorization: Bearer dev` is the first account. It is no
 * secret, so the request itself must show that a program of this machine sent it. It is never stored: another
 * server on the same data does not know it.
 */

const DEV_KEY = 'dev';
/** No stored key has this id. */
export const DEV_KEY_ID = 'key_dev';
export const DEV_KEY_HASH: string = hashCredential(DEV_KEY);
const DEV_KEY_HEADER = /^bearer +dev *$/i;
/** Fields that reverse proxies add. */
const PROXY_FIELD = /^(?:forwarded|via|x-forwarded-.*|x-real-ip)$/;

/** The caller of a request with the development key. */
export const devCaller = (account: AccountRecord): KeyCaller => ({
  account,
  key: {
    id: DEV_KEY_ID,
    accountId: account.id,
    name: 'development key',
    scope: 'full',
    prefix: DEV_KEY,
    createdAt: account.createdAt,
    expiresAt: null,
  },
});

export const isDevKey = (authorization: string | undefined): boolean =>
  authorization !== undefined && DEV_KEY_HEADER.test(authorization);

/**
 * Demands that a program of this machine sent a request with the development key.
 * @throws AppError `cross_site_request` for another Host, whose owner may have pointed its name at this machine
 *   (DNS rebinding); for a request of a proxy; for a page of another origin, which CORS may allow to send the header
 */
export function assertLocal({ headers, raw }: FastifyRequest, publicUrl: string | null): void {
  const { host = '' } = headers;
  const publicHost = publicUrl === null ? null : new URL(publicUrl).host;
  if (!isLoopbackHost(host) && host.toLowerCase() !== publicHost) throw refused(`for the host "${host}"`);
  const field = Object.keys(headers).find((name) => PROXY_FIELD.test(name));
  if (field) throw refused(`with the header "${field}" of a proxy`);
  // What nginx sends unless it is told otherwise, without any field that names it.
  if (raw.httpVersion === '1.0') throw refused('over HTTP/1.0, as proxies send it,');
  const page = foreignPage(headers, publicUrl);
  if (page) throw refused(`with ${page}, by a page of another origin,`);
}

const refused = (what: string): AppError =>
  new AppError(
    'cross_site_request',
    `A request ${what} cannot use the development key, which is for programs of this machine. Send an API key.`,
  );

/** The development key where the server does not know it. */
export const devKeyUnknown = (): AppError =>
  new AppError(
    'unauthorized',
    '"dev" is the development key, which only "mayfly dev" accepts, and only while it listens on loopback. Clients send it when no API key is given: set MAYFLY_API_KEY.',
  );
