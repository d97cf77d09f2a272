import { PROBLEMS, type Problem } from './catalogue.js'

/** What a problem says beside itself: where it happened, and to whom. */
export interface ProblemContext {
  /** Path of the request without its query, which may carry secrets. */
  readonly instance: string
  readonly traceId: string
  /** The caller's own tenant; null before authentication. */
  readonly tenantId: string | null
  readonly errorDocsUrl: string
}

export interface RenderedProblem {
  /** Status code and reason, as on the status line. */
  readonly status: string
  readonly headers: readonly (readonly [name: string, value: string])[]
  readonly body: string
}

/** Renders RFC 9457 problem details with the members of spec 7.2. */
export function renderProblem(problem: Problem, context: ProblemContext): RenderedProblem {
  const { status, title } = PROBLEMS[problem.code]
  const docsUrl = `${context.errorDocsUrl}/${problem.code}`
  const isInternal = problem.code === 'INTERNAL_ERROR'
  const body = JSON.stringify({
    ...problem.members,
    type: docsUrl,
    title,
    status,
    detail: isInternal ? title : problem.detail,
    instance: context.instance,
    error_code: problem.code,
    trace_id: context.traceId,
    tenant_id: context.tenantId,
    docs_url: docsUrl,
    ...(problem.errors === undefined || isInternal ? {} : { errors: problem.errors }),
  })
  const headers: [string, string][] = [
    ['Content-Type', 'application/problem+json'],
    ['Cache-Control', 'no-store'],
  ]
  const challenge = problem.challenge ?? (status === 401 ? 'Bearer realm="attribution"' : undefined)
  if (challenge !== undefined) headers.push(['WWW-Authenticate', challenge])
  if (problem.allow !== undefined) headers.push(['Allow', problem.allow])
  if (problem.retryAfterSeconds !== undefined) headers.push(['Retry-After', String(problem.retryAfterSeconds)])
  return { status: `${status} ${REASONS[status]}`, headers, body }
}

export const REASONS: Record<(typeof PROBLEMS)[keyof typeof PROBLEMS]['status'], string> = {
  400: 'Bad Request',
  401: 'Unauthorized',
  403: 'Forbidden',
  404: 'Not Found',
  405: 'Method Not Allowed',
  409: 'Conflict',
  411: 'Length Required',
  413: 'Content Too Large',
  415: 'Unsupported Media Type',
  422: 'Unprocessable Content',
  429: 'Too Many Requests',
  500: 'Internal Server Error',
  503: 'Service Unavailable',
}
