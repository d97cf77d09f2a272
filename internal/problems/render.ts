import { type ErrorCode, type FieldError, PROBLEMS, type Problem } from './problem-catalogue.js'

/** Context of a problem: the request path, and the tenant. */
export interface ProblemContext {
  /** Path of the request without its query, which may carry secrets. */
  readonly instance: string
  readonly traceId: string
  /** The caller's own tenant; null before authentication. */
  readonly tenantId: string | null
  readonly errorDocsUrl: string
}

/** The members of every problem, and `errors` as in the example of RFC 9457 section 3. */
export interface ProblemMembers {
  readonly type: string
  readonly title: string
  readonly status: number
  readonly detail: string
  readonly instance: string
  readonly error_code: ErrorCode
  readonly trace_id: string
  readonly tenant_id: string | null
  readonly docs_url: string
  readonly errors?: readonly FieldError[]
}

/** How a problem is written; other than plainly where another standard or a browser asks for it. */
export interface ProblemForm {
  readonly contentType: string
  readonly write: (members: ProblemMembers, problem: Problem) => string
  readonly headers?: readonly (readonly [name: string, value: string])[]
}

const PLAIN_FORM: ProblemForm = {
  contentType: 'application/problem+json',
  write: (members) => JSON.stringify(members),
}

export interface RenderedProblem {
  /** Status code and reason, as on the status line. */
  readonly status: string
  readonly headers: readonly (readonly [name: string, value: string])[]
  readonly body: string
}

/** Renders RFC 9457 problem details with the members above. */
export function renderProblem(
  problem: Problem,
  context: ProblemContext,
  form: ProblemForm = PLAIN_FORM,
): RenderedProblem {
  const { status, title } = PROBLEMS[problem.code]
  const docsUrl = `${context.errorDocsUrl}/${problem.code}`
  const isInternal = problem.code === 'INTERNAL_ERROR'
  const members: ProblemMembers = {
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
  }
  const headers: [string, string][] = [
    ['Content-Type', form.contentType],
    ['Cache-Control', 'no-store'],
    // A detail may repeat text from outside; a browser must not take it for another type.
    ...Object.entries({ 'X-Content-Type-Options': 'nosniff', ...Object.fromEntries(form.headers ?? []) }),
  ]
  const challenge = problem.challenge ?? (status === 401 ? 'Bearer realm="attribution"' : undefined)
  if (challenge !== undefined) headers.push(['WWW-Authenticate', challenge])
  if (problem.allow !== undefined) headers.push(['Allow', problem.allow])
  if (problem.acceptEncoding !== undefined) headers.push(['Accept-Encoding', problem.acceptEncoding])
  if (problem.contentRange !== undefined) headers.push(['Content-Range', problem.contentRange])
  if (problem.retryAfterSeconds !== undefined) headers.push(['Retry-After', String(problem.retryAfterSeconds)])
  return { status: `${status} ${REASONS[status]}`, headers, body: form.write(members, problem) }
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
  416: 'Range Not Satisfiable',
  422: 'Unprocessable Content',
  429: 'Too Many Requests',
  500: 'Internal Server Error',
  501: 'Not Implemented',
  503: 'Service Unavailable',
}
