import { hkdfSync } from 'node:crypto'
import type { Problem } from '../../problems/catalogue.js'
import { renderProblem } from '../../problems/render.js'
import { openUnder, sealUnder } from '../../secrets/seal.js'
import type { Exchange } from '../exchange.js'
import type { Reply } from './mutation.js'

/** An answer as it was given, and is given again. */
export interface KeptAnswer {
  /** Status line and headers that belong to the answer itself, as `Exchange.reply` takes them. */
  readonly head: string
  readonly body: string
  /** Of a refusal, which names it in its body. */
  readonly traceId?: string
}

/**
 * Seals an answer for whoever knows the Idempotency-Key that it was given under: an answer may hold a secret that is
 * shown once. Neither a copy of the bucket nor the copy and the master key together open it.
 *
 * @param secret the instance's
 * @param idempotencyKey in its canonical form
 * @param context where it is kept; it opens nowhere else
 */
export const sealAnswer = (secret: Uint8Array, idempotencyKey: string, context: string, answer: KeptAnswer): string =>
  sealUnder(keyOf(secret, idempotencyKey), context, Buffer.from(JSON.stringify(answer)))

/** @throws Error when it was sealed under another key, or altered */
export function openAnswer(secret: Uint8Array, idempotencyKey: string, context: string, sealed: string): KeptAnswer {
  const opened = openUnder(keyOf(secret, idempotencyKey), context, sealed)
  if (opened === undefined) throw new Error(`${context} does not open with this key`)
  return JSON.parse(opened.toString()) as KeptAnswer
}

const keyOf = (secret: Uint8Array, idempotencyKey: string): Uint8Array =>
  Buffer.from(hkdfSync('sha256', secret, idempotencyKey, 'attribution kept answers v1', 32))

/** The spellings of one key: bare or quoted, in either case. @param text a UUID or ULID, already checked */
export const canonicalKey = (text: string): string => text.replaceAll('"', '').toLowerCase()

const STATUS_LINE = { 200: '200 OK', 201: '201 Created', 202: '202 Accepted', 204: '204 No Content' } as const

export function answerOf({ status, body, location }: Reply): KeptAnswer {
  const lines = [
    STATUS_LINE[status],
    ...(body === undefined ? [] : ['Content-Type: application/json']),
    'Cache-Control: no-store',
    ...(location === undefined ? [] : [`Location: ${location}`]),
  ]
  return { head: lines.join('\r\n'), body: body === undefined ? '' : JSON.stringify(body) }
}

/** @param errorDocsUrl where the pages of the error codes are */
export function refusalOf(what: Problem, exchange: Exchange, errorDocsUrl: string): KeptAnswer {
  const { path, traceId, tenantId } = exchange
  const { status, headers, body } = renderProblem(what, { instance: path, traceId, tenantId, errorDocsUrl })
  return { head: [status, ...headers.map(([name, value]) => `${name}: ${value}`)].join('\r\n'), body, traceId }
}
