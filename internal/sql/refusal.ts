import type { ErrorCode } from '../problems/problem-catalogue.js'

/** A refusal in the form that clients of ClickHouse read: a code and a name of the engine's own list. */
export class SqlRefusal extends Error {
  readonly kind: Kind
  readonly retryAfterS: number | undefined

  constructor(kind: Kind, message: string, retryAfterS?: number) {
    super(message)
    this.kind = kind
    this.retryAfterS = retryAfterS
  }
}

export const refusal = (kind: RefusalKind, message: string, retryAfterS?: number): SqlRefusal =>
  new SqlRefusal(KINDS[kind], message, retryAfterS)

export interface Kind {
  readonly status: number
  readonly code: number
  readonly type: string
  /** For the audit log. */
  readonly problem: ErrorCode
}

const KINDS = {
  missing: { status: 401, code: 194, type: 'REQUIRED_PASSWORD', problem: 'INVALID_CREDENTIALS' },
  credentials: { status: 403, code: 516, type: 'AUTHENTICATION_FAILED', problem: 'INVALID_CREDENTIALS' },
  expired: { status: 403, code: 516, type: 'AUTHENTICATION_FAILED', problem: 'EXPIRED' },
  residency: { status: 409, code: 497, type: 'ACCESS_DENIED', problem: 'RESIDENCY_BLOCKED' },
  forbidden: { status: 403, code: 497, type: 'ACCESS_DENIED', problem: 'INSUFFICIENT_SCOPE' },
  unreadable: { status: 400, code: 62, type: 'SYNTAX_ERROR', problem: 'MALFORMED_REQUEST' },
  database: { status: 404, code: 81, type: 'UNKNOWN_DATABASE', problem: 'NOT_FOUND' },
  table: { status: 404, code: 60, type: 'UNKNOWN_TABLE', problem: 'NOT_FOUND' },
  limited: { status: 429, code: 201, type: 'QUOTA_EXCEEDED', problem: 'RATE_LIMITED' },
  busy: { status: 429, code: 202, type: 'TOO_MANY_SIMULTANEOUS_QUERIES', problem: 'RATE_LIMITED' },
  unavailable: { status: 503, code: 210, type: 'NETWORK_ERROR', problem: 'SERVICE_UNAVAILABLE' },
  failed: { status: 500, code: 1002, type: 'UNKNOWN_EXCEPTION', problem: 'INTERNAL_ERROR' },
} as const satisfies Readonly<Record<string, Kind>>
type RefusalKind = keyof typeof KINDS
