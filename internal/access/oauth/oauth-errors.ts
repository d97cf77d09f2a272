import { PROBLEMS, type Problem, problem } from '../../problems/problem-catalogue.js'
import type { ProblemForm } from '../../problems/render.js'

/** Error codes of RFC 6749 5.2, and of 4.1.2.1 for cases without a code there. */
export const OAUTH_ERRORS = [
  'invalid_request',
  'invalid_client',
  'invalid_grant',
  'unauthorized_client',
  'unsupported_grant_type',
  'invalid_scope',
  'temporarily_unavailable',
  'server_error',
] as const
export type OAuthErrorCode = (typeof OAUTH_ERRORS)[number]

export interface OAuthProblem extends Problem {
  readonly error: OAuthErrorCode
}

/** @param detail also the `error_description`: ASCII without quotation marks and backslashes */
export const oauthProblem = (error: OAuthErrorCode, detail: string): OAuthProblem =>
  error === 'invalid_client'
    ? { ...problem('INVALID_CREDENTIALS', detail, { challenge: 'Basic realm="attribution"' }), error }
    : { ...problem('MALFORMED_REQUEST', detail), error }

/** Problems that are not OAuth errors by origin get a code too. */
function errorOf(problem: Problem): OAuthErrorCode {
  if ('error' in problem) return (problem as OAuthProblem).error
  const { status } = PROBLEMS[problem.code]
  if (status === 500) return 'server_error'
  return status === 429 || status === 503 ? 'temporarily_unavailable' : 'invalid_request'
}

/**
 * One body for both standards: the members of RFC 6749 5.2 and those of RFC 9457. The media type is that of RFC 9457,
 * `application/problem+json`, unless the request names `application/json`: OAuth client libraries do, and accept no
 * other type.
 *
 * @param accept the request's Accept, empty when absent
 */
export const oauthProblemForm = (accept: string): ProblemForm => ({
  contentType: accepts(accept, 'application/json') ? 'application/json' : 'application/problem+json',
  write: (members, problem) =>
    JSON.stringify({ error: errorOf(problem), error_description: members.detail, ...members }),
})

/** Whether an Accept header names the media type itself, not by a wildcard, and does not refuse it by `q=0`. */
export const accepts = (accept: string, mediaType: string): boolean =>
  accept.split(',').some((range) => {
    const [name = '', ...parameters] = range.split(';').map((part) => part.trim().toLowerCase())
    return name === mediaType && !parameters.some((parameter) => /^q=0(\.0*)?$/.test(parameter))
  })
