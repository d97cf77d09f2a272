import { hkdfSync } from 'node:crypto'
import type { Caller } from '../../auth/authenticate.js'
import type { Problem } from '../../problems/problem-catalogue.js'
import { renderProblem } from '../../problems/render.js'
import { openUnder, sealUnder } from '../../secrets/seal.js'
import type { Exchange } from '../exchange.js'
import type { Reply } from './mutation.js'

/** A stored reply, for replays. */
export interface KeptAnswer {
  /** Status line and headers of the reply itself, in the form of `Exchange.reply`. */
  readonly head: string
  readonly body: string
  /** Of a refusal, whose body contains it. */
  readonly traceId?: string
  /** Whose it is. Absent: written by an earlier version. */
  readonly maker?: Maker
}

export interface Maker {
  readonly principal: string
  /** Everything that its credential could do, as one text. */
  readonly authority: string
  /** Whether the body holds a secret. */
  readonly hasSecret: boolean
}

/** What a credential may do, as one text: equal where every request of one is a request of the other. */
export const authorityOf = ({ principal, scopes, ingestionLayers, trustsCost, isGateway }: Caller): string =>
  JSON.stringify([
    principal,
    [...scopes].sort(),
    ingestionLayers === undefined ? null : [...ingestionLayers].sort(),
    trustsCost !== false,
    isGateway === true,
  ])

/**
 * Seals a reply with the request's Idempotency-Key, since a reply may hold a secret that is shown only once. Neither a
 * copy of the bucket, nor that copy with the master key, opens it.
 *
 * @param secret the instance's
 * @param idempotencyKey in its canonical form
 * @param context key of the record; the reply opens under no other
 */
export const sealAnswer = (secret: Uint8Array, idempotencyKey: string, context: string, answer: KeptAnswer): string =>
  sealUnder(keyOf(secret, idempotencyKey), context, Buffer.from(JSON.stringify(answer)))

/** @throws Error when it was sealed with another key, or modified */
export function openAnswer(secret: Uint8Array, idempotencyKey: string, context: string, sealed: string): KeptAnswer {
  const opened = openUnder(keyOf(secret, idempotencyKey), context, sealed)
  if (opened === undefined) throw new Error(`${context} does not open with this key`)
  return JSON.parse(opened.toString()) as KeptAnswer
}

const keyOf = (secret: Uint8Array, idempotencyKey: string): Uint8Array =>
  Buffer.from(hkdfSync('sha256', secret, idempotencyKey, 'attribution kept answers v1', 32))

/** Normalizes a key, which may be bare or quoted and in either case. @param text a UUID or ULID, already validated */
export const canonicalKey = (text: string): string => text.replaceAll('"', '').toLowerCase()

const STATUS_LINE = { 200: '200 OK', 201: '201 Created', 202: '202 Accepted', 204: '204 No Content' } as const

export function answerOf({ status, body, location }: Reply, mediaType = 'application/json'): KeptAnswer {
  const lines = [
    STATUS_LINE[status],
    ...(body === undefined ? [] : [`Content-Type: ${mediaType}`]),
    'Cache-Control: no-store',
    ...(location === undefined ? [] : [`Location: ${location}`]),
  ]
  return { head: lines.join('\r\n'), body: body === undefined ? '' : JSON.stringify(body) }
}

/** @param errorDocsUrl base URL of the error code pages */
export function refusalOf(what: Problem, exchange: Exchange, errorDocsUrl: string): KeptAnswer {
  const { path, traceId, tenantId } = exchange
  const { status, headers, body } = renderProblem(what, { instance: path, traceId, tenantId, errorDocsUrl })
  return { head: [status, ...headers.map(([name, value]) => `${name}: ${value}`)].join('\r\n'), body, traceId }
}
