import type { Problem } from '../../problems/problem-catalogue.js'
import { renderProblem } from '../../problems/render.js'
import type { IntakeAnswer, RefusedRequest } from './intake-route.js'

/** A refusal as the API writes it (RFC 9457). */
export function asProblemJson(problem: Problem, request: RefusedRequest): IntakeAnswer {
  const { status, headers, body } = renderProblem(sentAgain(problem), request)
  return { status: Number.parseInt(status, 10), headers: Object.fromEntries(headers), body }
}

/**
 * What is not taken now, over HTTP. All senders repeat after a 503; some drop what was answered 429: OpenTelemetry's exporter in
 * Python, LiteLLM.
 */
export const sentAgain = (what: Problem): Problem =>
  what.code === 'RATE_LIMITED' ? { ...what, code: 'SERVICE_UNAVAILABLE' } : what
