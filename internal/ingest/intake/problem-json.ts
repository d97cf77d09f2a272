import type { Problem } from '../../problems/problem-catalogue.js'
import { renderProblem } from '../../problems/render.js'
import type { IntakeAnswer, RefusedRequest } from './intake-route.js'

/** A refusal as the API writes it (RFC 9457). */
export function asProblemJson(problem: Problem, request: RefusedRequest): IntakeAnswer {
  const { status, headers, body } = renderProblem(problem, request)
  return { status: Number.parseInt(status, 10), headers: Object.fromEntries(headers), body }
}
