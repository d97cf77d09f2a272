import { describe, expect, test } from 'vitest'
import { type ErrorCode, PROBLEMS, problem } from '../../../internal/problems/problem-catalogue.js'
import { renderProblem } from '../../../internal/problems/render.js'

const CODES = Object.keys(PROBLEMS) as ErrorCode[]
const CONTEXT = {
  instance: '/v1/attribution',
  traceId: '0af7651916cd43dd8448eb211c80319c',
  tenantId: 'tnt_one',
  errorDocsUrl: 'https://docs.example/errors',
}

const render = (code: ErrorCode, more: Parameters<typeof problem>[2] = {}, context: Partial<typeof CONTEXT> = {}) =>
  renderProblem(problem(code, 'what happened', more), { ...CONTEXT, ...context })

const bodyOf = (code: ErrorCode, more: Parameters<typeof problem>[2] = {}): Record<string, unknown> =>
  JSON.parse(render(code, more).body) as Record<string, unknown>

const headerOf = (code: ErrorCode, name: string, more: Parameters<typeof problem>[2] = {}): string | undefined =>
  render(code, more).headers.find(([header]) => header === name)?.[1]

describe('the closed list', () => {
  test.each([
    ['INVALID_CREDENTIALS', 401, false],
    ['EXPIRED', 401, false],
    ['STEP_UP_REQUIRED', 401, false],
    ['INSUFFICIENT_SCOPE', 403, false],
    ['TENANT_MISMATCH', 403, false],
    ['RESIDENCY_BLOCKED', 409, false],
    ['IDEMPOTENCY_CONFLICT', 422, false],
    ['NO_SCOPE', 422, false],
    ['WEBHOOK_URL_REJECTED', 422, false],
    ['RATE_LIMITED', 429, true],
    ['INTERNAL_ERROR', 500, true],
    ['IDEMPOTENCY_KEY_REQUIRED', 400, false],
    ['MALFORMED_REQUEST', 400, false],
    ['INVALID_FILTER', 400, false],
    ['INVALID_CURSOR', 400, false],
    ['DOWNLOAD_URL_INVALID', 403, false],
    ['NOT_FOUND', 404, false],
    ['METHOD_NOT_ALLOWED', 405, false],
    ['CONFLICT', 409, false],
    ['IDEMPOTENCY_IN_PROGRESS', 409, true],
    ['LENGTH_REQUIRED', 411, false],
    ['PAYLOAD_TOO_LARGE', 413, false],
    ['UNSUPPORTED_MEDIA_TYPE', 415, false],
    ['RANGE_NOT_SATISFIABLE', 416, false],
    ['VALIDATION_FAILED', 422, false],
    ['NOT_IMPLEMENTED', 501, false],
    ['SERVICE_UNAVAILABLE', 503, true],
  ] as const)('%s answers %i, retryable: %s', (code, status, retryable) => {
    expect(PROBLEMS[code]).toMatchObject({ status, retryable })
  })

  test('has no other code', () => {
    expect(CODES).toHaveLength(27)
  })

  test('gives every code a title of its own', () => {
    expect(new Set(Object.values(PROBLEMS).map(({ title }) => title)).size).toBe(CODES.length)
  })
})

describe('a body', () => {
  test('has the nine documented members and no other', () => {
    expect(bodyOf('NOT_FOUND')).toEqual({
      type: 'https://docs.example/errors/NOT_FOUND',
      title: 'The resource does not exist.',
      status: 404,
      detail: 'what happened',
      instance: '/v1/attribution',
      error_code: 'NOT_FOUND',
      trace_id: '0af7651916cd43dd8448eb211c80319c',
      tenant_id: 'tnt_one',
      docs_url: 'https://docs.example/errors/NOT_FOUND',
    })
  })

  test.each(CODES)('of %s names its code, its status and its page', (code) => {
    expect(bodyOf(code)).toMatchObject({
      error_code: code,
      status: PROBLEMS[code].status,
      title: PROBLEMS[code].title,
      type: `https://docs.example/errors/${code}`,
      docs_url: `https://docs.example/errors/${code}`,
    })
  })

  test('before authentication has no tenant', () => {
    const { body } = renderProblem(problem('INVALID_CREDENTIALS', 'why'), { ...CONTEXT, tenantId: null })

    expect(JSON.parse(body)).toMatchObject({ tenant_id: null })
  })

  test('lists what is wrong with the fields, where that is known', () => {
    const errors = [{ pointer: '/provider', detail: 'is required' }]

    expect(bodyOf('VALIDATION_FAILED', { errors })).toMatchObject({ errors })
    expect(bodyOf('VALIDATION_FAILED')).not.toHaveProperty('errors')
  })

  test('of INTERNAL_ERROR reveals nothing about the cause', () => {
    const errors = [{ pointer: '/inner', detail: 'what happened' }]

    const body = bodyOf('INTERNAL_ERROR', { errors })

    expect(body).toMatchObject({ detail: PROBLEMS.INTERNAL_ERROR.title })
    expect(JSON.stringify(body)).not.toContain('what happened')
  })

  test('is JSON for any path', () => {
    const { body } = render('NOT_FOUND', {}, { instance: '/v1/"\\\n\u2028é' })

    expect(JSON.parse(body)).toMatchObject({ instance: '/v1/"\\\n\u2028é' })
  })
})

describe('the head', () => {
  test.each(CODES)('of %s has a status line with a reason, and is never cached', (code) => {
    expect(render(code).status).toMatch(new RegExp(`^${PROBLEMS[code].status} [A-Z][A-Za-z ]+$`))
    expect(headerOf(code, 'Content-Type')).toBe('application/problem+json')
    expect(headerOf(code, 'Cache-Control')).toBe('no-store')
  })

  test.each(CODES)('of %s asks for a credential when it is a 401, and only then', (code) => {
    expect(headerOf(code, 'WWW-Authenticate') !== undefined).toBe(PROBLEMS[code].status === 401)
  })

  test('of a 405 lists the supported methods', () => {
    expect(headerOf('METHOD_NOT_ALLOWED', 'Allow', { allow: 'GET, POST' })).toBe('GET, POST')
    expect(headerOf('NOT_FOUND', 'Allow')).toBeUndefined()
  })

  test.each(['RATE_LIMITED', 'SERVICE_UNAVAILABLE'] as const)('of %s says when to retry', (code) => {
    expect(headerOf(code, 'Retry-After', { retryAfterSeconds: 3 })).toBe('3')
    expect(headerOf(code, 'Retry-After', { retryAfterSeconds: 0 })).toBe('0')
    expect(headerOf(code, 'Retry-After')).toBeUndefined()
  })
})
