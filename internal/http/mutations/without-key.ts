import type { AuditAction, AuditSink } from '../../auth/audit-entry.js'
import type { Caller } from '../../auth/authenticate.js'
import { isBrokerUnavailable } from '../../broker/errors.js'
import { type Problem, problem } from '../../problems/problem-catalogue.js'
import type { Logger } from '../../telemetry/log.js'
import type { Exchange } from '../exchange.js'
import { audit, NotAudited } from './audited.js'
import { answerOf } from './kept-answer.js'
import type { Reply } from './mutation.js'

export interface WithoutKeyDeps {
  readonly auditSink: AuditSink
  readonly clock: () => number
  readonly log: Logger
}

/**
 * Carries out a change that has no Idempotency-Key: a PUT, which states the whole result, or a request of a standard
 * client that cannot send one. The change is audited before its reply. The exchange's address must have been kept.
 *
 * @param mediaType of a reply's body
 */
export async function changeWithoutKey(
  exchange: Exchange,
  caller: Caller,
  action: AuditAction,
  work: () => Promise<Reply | Problem>,
  deps: WithoutKeyDeps,
  mediaType = 'application/json',
): Promise<void> {
  try {
    const outcome = await work()
    await audit(deps, exchange, caller, action, outcome)
    if ('code' in outcome) return exchange.replyProblem(outcome)
    const { head, body } = answerOf(outcome, mediaType)
    return body === '' ? exchange.replyEmpty(head) : exchange.reply(head, body)
  } catch (cause) {
    if (!(cause instanceof NotAudited) && !isBrokerUnavailable(cause)) {
      await audit(deps, exchange, caller, action, FAILED)
      throw cause
    }
    deps.log.warn({ err: cause, trace_id: exchange.traceId }, 'change could not be completed')
    exchange.replyProblem(
      problem('SERVICE_UNAVAILABLE', 'The outcome could not be stored; send the request again.', {
        retryAfterSeconds: 1,
      }),
    )
  }
}

/** Replies to a caller whose scopes are not enough: such a refusal is audited like any other. */
export const deniedWithoutKey =
  (action: AuditAction, deps: WithoutKeyDeps) =>
  (exchange: Exchange, caller: Caller, denial: Problem): Promise<void> => {
    exchange.keepAddress()
    return changeWithoutKey(exchange, caller, action, async () => denial, deps)
  }

const FAILED = problem('INTERNAL_ERROR', '')
