import { randomUUID } from 'node:crypto'
import { createConfig, lintFromString } from '@redocly/openapi-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { describeApi } from '../../cmd/gateway/description.js'
import { SCOPES } from '../../internal/auth/scopes.js'
import { PROBLEMS } from '../../internal/problems/problem-catalogue.js'
import { exampleOf, openObjects, withUnknownMember } from '../support/contract/bodies.js'
import { schemaChecker } from '../support/contract/described.js'
import { openTarget, send, type Target } from '../support/contract/target.js'
import { someOf } from '../support/run/rings.js'

/**
 * The description that an instance serves. `generated.test.ts` compares it with what was promised before.
 */

let target: Target
beforeAll(async () => {
  target = await openTarget()
})
afterAll(() => target.stop())

test('the OpenAPI description passes the recommended rules of Redocly without a warning', async () => {
  const { text } = await send(target.credentials.base_url, { method: 'GET', path: '/openapi.json' })
  const config = await createConfig({ extends: ['recommended'], rules: { 'no-server-example.com': 'off' } })

  const problems = await lintFromString({ source: text, absoluteRef: 'openapi.json', config })

  const found = problems.map(({ ruleId, message, location }) => [ruleId, message, location[0]?.pointer])
  // A sign-in leads back to the client, as OAuth has it, and has nothing of its own to say.
  const leadsAway = '#/paths/~1v1~1oauth~1authorize/post/responses'
  expect(found.filter(([rule, , at]) => rule !== 'operation-2xx-response' || at !== leadsAway)).toEqual([])
})

test('the OpenAPI description is public, cached by ETag, and names this instance', async () => {
  const { base_url } = target.credentials
  const answer = await send(base_url, { method: 'GET', path: '/openapi.json' })
  const etag = answer.headers.get('etag') ?? ''
  const again = await send(base_url, { method: 'GET', path: '/openapi.json', headers: { 'if-none-match': etag } })

  expect(answer.headers.get('content-type')).toBe('application/json')
  expect(answer.headers.get('cache-control')).toMatch(/^public, max-age=\d+$/)
  expect(again).toMatchObject({ status: 304, text: '' })
  expect(JSON.parse(answer.text)).toMatchObject({ openapi: '3.1.0', servers: [{ url: base_url }] })
})

test('the OpenAPI description lists all scopes and error codes', () => {
  const { scopes, schemas } = target.described

  expect(scopes).toEqual([...SCOPES])
  expect(schemas['ErrorCode']?.['enum']).toEqual(Object.keys(PROBLEMS))
})

test('the OpenAPI description is the one that is generated without a service, but for the address', async () => {
  const { text } = await send(target.credentials.base_url, { method: 'GET', path: '/openapi.json' })
  const generated = await describeApi(target.credentials.base_url)

  expect(JSON.parse(text)).toEqual(JSON.parse(JSON.stringify(generated)))
})

test('the examples of the OpenAPI description match their schemas', () => {
  const check = schemaChecker(target.described, true)
  const wrong: unknown[] = []
  const visit = (node: unknown): void => {
    if (typeof node !== 'object' || node === null) return
    if ('schema' in node && 'example' in node) {
      const fault = check(node.schema as Parameters<typeof check>[0])(node.example)
      if (fault !== undefined) wrong.push([fault, node.example])
    }
    for (const inner of Object.values(node)) visit(inner)
  }
  visit(target.described.raw['paths'])
  visit(target.described.raw['components'])

  expect(wrong).toEqual([])
})

describe('routes that need no credential', () => {
  /** Whatever is public must be listed here. */
  const PUBLIC = [
    'GET /healthz',
    'GET /readyz',
    'GET /openapi.json',
    'GET /docs/errors/{code}',
    'GET /.well-known/oauth-authorization-server',
    'GET /.well-known/jwks.json',
    // Files without tenant data.
    'GET /console',
    'GET /console/{page}',
    'GET /console/assets/{file}',
    // The address is the permission.
    'GET /v1/exports/files/{token}',
    // These authenticate the client or the person themselves.
    'POST /v1/oauth/token',
    'POST /api/partner/v1/oauth/token',
    'POST /v1/oauth/revoke',
    'POST /api/partner/v1/oauth/revoke',
    'GET /v1/oauth/authorize',
    'POST /v1/oauth/authorize',
  ]

  test('only the listed operations need no credential', () => {
    const open = target.described.operations.filter(({ scope }) => scope === undefined)

    expect(open.map(({ method, path }) => `${method} ${path}`).sort()).toEqual([...PUBLIC].sort())
  })
})

describe('unknown members of request bodies', () => {
  /**
   * Events and reports of other systems, which may be newer than this instance, and OAuth requests (RFC 6749 section
   * 3.2): unknown members are ignored and, in events, counted. Every other body is closed; a new exception must be
   * listed here.
   */
  const OPEN = [
    'ingestInvocations',
    'ingestObservation',
    'ingestPartnerInvocations',
    'reportConnectorHealth',
    'issueToken',
    'issuePartnerToken',
    'revokeToken',
    'revokePartnerToken',
    'signIn',
  ]
  const UNKNOWN = 'no_such_member'

  test('are described as refused at any depth of every body, except in the listed operations', () => {
    const open = openObjects(target.described)

    expect([...new Set(open.map(([id]) => id))].sort()).toEqual([...OPEN].sort())
  })

  test('are refused with their pointer by every other mutation, in nested objects too and with no body', async () => {
    const { described, credentials } = target
    const mutations = described.operations.filter(
      ({ id, method, scope }) => method !== 'GET' && scope !== undefined && !OPEN.includes(id),
    )
    const wrong: unknown[] = []
    for (const operation of someOf(mutations)) {
      for (const [pointer, body] of withUnknownMember(exampleOf(described, operation), UNKNOWN)) {
        const { status, text } = await send(credentials.base_url, {
          method: operation.method,
          path: operation.path.replace(/\{\w+\}/g, 'unknown'),
          headers: {
            'x-api-key': credentials.api_key,
            'content-type': 'application/json',
            'idempotency-key': randomUUID(),
          },
          body: JSON.stringify(body),
        })
        const { error_code: code, errors = [] } = JSON.parse(text) as {
          error_code?: string
          errors?: readonly { pointer: string }[]
        }
        const isNamed = errors.some((error) => error.pointer === pointer)
        // A file is refused line by line.
        if (operation.id === 'importDirectory' && pointer.split('/').length > 2) {
          if (!/"refusals":[1-9]/.test(text)) wrong.push([operation.id, pointer, status, text])
          continue
        }
        if (status !== 422 || code !== 'VALIDATION_FAILED' || !isNamed)
          wrong.push([operation.id, pointer, status, text])
      }
    }

    expect(mutations.length).toBeGreaterThan(30)
    expect(wrong).toEqual([])
  })
})
