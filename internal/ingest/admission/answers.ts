import type { Exchange } from '../../http/exchange.js'
import { type Problem, problem } from '../../problems/problem-catalogue.js'

/** The answer to a request; a repeat of the request gets the same answer. */
export type Answer =
  /** The bytes may be overwritten after the call that passes them; use `kept` to read them later. */
  { readonly kind: 'accepted'; readonly body: Uint8Array } | { readonly kind: 'refused'; readonly problem: Problem }

/** A copy of the answer that stays valid. */
export const kept = (told: Answer): Answer =>
  told.kind === 'accepted' ? { ...told, body: Uint8Array.from(told.body) } : told

const ACCEPTED = '202 Accepted\r\nContent-Type: application/json\r\nCache-Control: no-store'
const REPLAYED = `${ACCEPTED}\r\nIdempotency-Replayed: true`

export function reply(exchange: Exchange, answer: Answer, isReplay: boolean): void {
  if (answer.kind === 'refused') exchange.replyProblem(answer.problem)
  else exchange.reply(isReplay ? REPLAYED : ACCEPTED, answer.body)
}

export const unavailable = (detail: string): Problem => problem('SERVICE_UNAVAILABLE', detail, { retryAfterSeconds: 1 })

export const KEY_CONFLICT = problem('IDEMPOTENCY_CONFLICT', 'Use a new Idempotency-Key for another body.')
export const TOO_MUCH = problem('RATE_LIMITED', 'Too many events are waiting for the log; try again.', {
  retryAfterSeconds: 1,
})
export const KEY_REQUIRED = problem('IDEMPOTENCY_KEY_REQUIRED', 'Send one Idempotency-Key header, a UUID or a ULID.')

/** JSON is UTF-8 (RFC 8259 section 8.1). */
export const OTHER_CHARSET = /;\s*charset\s*=\s*(?!"?utf-8"?\s*(?:;|$))/i
