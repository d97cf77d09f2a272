import type { Exchange } from '../../http/exchange.js'
import { type Problem, problem } from '../../problems/catalogue.js'

/** What a request is answered with; a repeat of it is answered with the same. */
export type Answer =
  /** The bytes may be written over when the call is over that hands them on: whoever wants them later takes `kept`. */
  { readonly kind: 'accepted'; readonly body: Uint8Array } | { readonly kind: 'refused'; readonly problem: Problem }

/** What a request that waits for another is told: its answer, or that a peer decided, so that it has to look again. */
export type SharedAnswer = Answer | { readonly kind: 'elsewhere' }
export const ELSEWHERE: SharedAnswer = { kind: 'elsewhere' }

/** The same, to be read at any time. */
export const kept = (told: SharedAnswer): SharedAnswer =>
  told.kind === 'accepted' ? { ...told, body: Uint8Array.from(told.body) } : told

const ACCEPTED = '202 Accepted\r\nContent-Type: application/json\r\nCache-Control: no-store'
const REPLAYED = `${ACCEPTED}\r\nIdempotency-Replayed: true`

export function reply(exchange: Exchange, answer: Answer, isReplay: boolean): void {
  if (answer.kind === 'refused') exchange.replyProblem(answer.problem)
  else exchange.reply(isReplay ? REPLAYED : ACCEPTED, answer.body)
}

export const unavailable = (detail: string): Problem => problem('SERVICE_UNAVAILABLE', detail, { retryAfterSeconds: 1 })

export const KEY_CONFLICT = problem('IDEMPOTENCY_CONFLICT', 'Use a new Idempotency-Key for another body.')
export const TOO_MUCH = problem('RATE_LIMITED', 'Too much waits for the log; try again.', { retryAfterSeconds: 1 })
export const KEY_REQUIRED = problem('IDEMPOTENCY_KEY_REQUIRED', 'Send one Idempotency-Key header, a UUID or a ULID.')

/** JSON is UTF-8 (RFC 8259 section 8.1). */
export const OTHER_CHARSET = /;\s*charset\s*=\s*(?!"?utf-8"?\s*(?:;|$))/i
