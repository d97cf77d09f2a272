/**
 * The closed list of error codes (`deploy/decisions/http-contract.md`). Within a major version none is removed or
 * reused. `title` is constant per code; the specific cause goes into the problem's `detail`.
 */
export const PROBLEMS = {
  IDEMPOTENCY_KEY_REQUIRED: {
    status: 400,
    retryable: false,
    title: 'A mutating request needs one Idempotency-Key, a UUID or ULID.',
  },
  MALFORMED_REQUEST: { status: 400, retryable: false, title: 'The request cannot be read.' },
  INVALID_FILTER: { status: 400, retryable: false, title: 'A query parameter is not known or not allowed.' },
  INVALID_CURSOR: {
    status: 400,
    retryable: false,
    title: 'The cursor was altered, has expired or belongs to another query.',
  },
  INVALID_CREDENTIALS: { status: 401, retryable: false, title: 'The credential is missing or invalid.' },
  EXPIRED: { status: 401, retryable: false, title: 'The API key has expired.' },
  STEP_UP_REQUIRED: { status: 401, retryable: false, title: 'A recent sign-in is needed for this operation.' },
  INSUFFICIENT_SCOPE: { status: 403, retryable: false, title: 'The credential lacks the required scope.' },
  TENANT_MISMATCH: { status: 403, retryable: false, title: 'The resource belongs to another tenant.' },
  DOWNLOAD_URL_INVALID: { status: 403, retryable: false, title: 'The download address was altered or has expired.' },
  NOT_FOUND: { status: 404, retryable: false, title: 'The resource does not exist.' },
  METHOD_NOT_ALLOWED: { status: 405, retryable: false, title: 'The resource does not support this method.' },
  CONFLICT: { status: 409, retryable: false, title: 'The resource is not in a state that allows this.' },
  IDEMPOTENCY_IN_PROGRESS: {
    status: 409,
    retryable: true,
    title: 'The first request with this Idempotency-Key is still running.',
  },
  RESIDENCY_BLOCKED: { status: 409, retryable: false, title: 'The operation would cross a data-residency boundary.' },
  LENGTH_REQUIRED: { status: 411, retryable: false, title: 'The request needs a Content-Length.' },
  PAYLOAD_TOO_LARGE: { status: 413, retryable: false, title: 'The body is too large.' },
  UNSUPPORTED_MEDIA_TYPE: { status: 415, retryable: false, title: 'The media type of the body is not supported.' },
  RANGE_NOT_SATISFIABLE: { status: 416, retryable: false, title: 'The file has no bytes in that range.' },
  VALIDATION_FAILED: { status: 422, retryable: false, title: 'The body does not match its schema.' },
  IDEMPOTENCY_CONFLICT: { status: 422, retryable: false, title: 'The Idempotency-Key was used with another body.' },
  NO_SCOPE: { status: 422, retryable: false, title: 'A key needs at least one scope.' },
  WEBHOOK_URL_REJECTED: { status: 422, retryable: false, title: 'The webhook address is not a public https address.' },
  RATE_LIMITED: { status: 429, retryable: true, title: 'The rate limit is exhausted.' },
  INTERNAL_ERROR: { status: 500, retryable: true, title: 'An unexpected error occurred.' },
  NOT_IMPLEMENTED: { status: 501, retryable: false, title: 'The service does not support this.' },
  SERVICE_UNAVAILABLE: { status: 503, retryable: true, title: 'The service cannot handle this request at present.' },
} as const

export type ErrorCode = keyof typeof PROBLEMS

/** One thing wrong with a body or a query: where (RFC 6901) and why; never the value, which may be content. */
export interface FieldError {
  readonly pointer: string
  readonly detail: string
}

/** An expected failure on its way to the caller. */
export interface Problem {
  readonly code: ErrorCode
  readonly detail: string
  readonly errors?: readonly FieldError[] | undefined
  /** Seconds; for 429 and 503. */
  readonly retryAfterSeconds?: number | undefined
  /** `WWW-Authenticate` in place of the plain one (RFC 9110 11.6.1); for 401 and 403. */
  readonly challenge?: string | undefined
  /** Methods of the path; for 405. */
  readonly allow?: string | undefined
  /** `Accept-Encoding` (RFC 9110 section 12.5.3); for 415. */
  readonly acceptEncoding?: string | undefined
  /** `Content-Range` with the file's length (RFC 9110 section 14.4); for 416. */
  readonly contentRange?: string | undefined
  /** Members in addition to those of all problems (RFC 9457 section 3.2). */
  readonly members?: Readonly<Record<string, unknown>> | undefined
}

export const problem = (code: ErrorCode, detail: string, more: Omit<Problem, 'code' | 'detail'> = {}): Problem => ({
  code,
  detail,
  ...more,
})
