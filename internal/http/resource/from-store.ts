import { brokerProblem } from '../../broker/errors.js'
import { storeProblem, TOO_MANY_QUERIES } from '../../store/failures.js'
import type { Exchange } from '../exchange.js'

/**
 * Answers from the read model. A caller who disconnects cancels the queries; an unavailable read model or broker is a
 * 503.
 *
 * @param answer runs its queries with the signal, and replies
 */
export async function answerFromStore(
  exchange: Exchange,
  answer: (signal: AbortSignal) => Promise<void>,
): Promise<void> {
  const abort = new AbortController()
  exchange.onAborted(() => abort.abort())
  try {
    await answer(abort.signal)
  } catch (cause) {
    if (exchange.isSettled) return // the caller has disconnected, which cancelled the queries
    const known = storeProblem(cause) ?? brokerProblem(cause)
    if (known === undefined) throw cause
    exchange.replyProblem(known)
  }
}

/** Replies with what is found. @param find returns undefined when the tenant has too many queries in flight */
export const replyFromStore = (
  exchange: Exchange,
  find: (signal: AbortSignal) => Promise<{ readonly value: unknown } | undefined>,
): Promise<void> =>
  answerFromStore(exchange, async (signal) => {
    const found = await find(signal)
    if (exchange.isSettled) return
    if (found === undefined) return exchange.replyProblem(TOO_MANY_QUERIES)
    exchange.replyJson('200 OK', found.value)
  })
