import { randomUUID } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { createConfig, lintFromString } from '@redocly/openapi-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { SCOPES } from '../../internal/auth/scopes.js'
import { PROBLEMS } from '../../internal/problems/problem-catalogue.js'
import { compareWithBaseline } from '../support/contract/baselines.js'
import { exampleOf, openObjects, withUnknownMember } from '../support/contract/bodies.js'
import { breakages, type Frozen, frozenPartOf } from '../support/contract/compatibility.js'
import { schemaChecker } from '../support/contract/described.js'
import { typesOf } from '../support/contract/schema-types.js'
import { openTarget, send, type Target } from '../support/contract/target.js'

/**
 * The description that an instance serves: sound by itself, and compatible with what was promised before.
 * `ATTRIBUTION_RENEW_BASELINES=1 npm test -- test/contract/description.test.ts test/contract/events.test.ts` writes additions into the baselines.
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

test('the types of the client library are those of the description', async () => {
  const file = new URL('../../internal/sdk/api.ts', import.meta.url)
  const { text } = await send(target.credentials.base_url, { method: 'GET', path: '/openapi.json' })
  const types = typesOf(JSON.parse(text).components.schemas)
  if (process.env['ATTRIBUTION_RENEW_BASELINES'] === '1') writeFileSync(file, types)

  expect(readFileSync(file, 'utf8')).toBe(types)
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
  /** Spec 4.1, 4.6 and 5 rule 1; design section 7. Whatever else is public must be written down here. */
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
   * Events and reports of other systems, which may be newer than this instance, and OAuth requests (RFC 6749 section 3.2):
   * unknown members are ignored and, in events, counted. Every other body is closed; a new exception must be listed here.
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

  test('are refused with their pointer by every other mutation, also in nested objects and where it takes no body', async () => {
    const { described, credentials } = target
    const mutations = described.operations.filter(
      ({ id, method, scope }) => method !== 'GET' && scope !== undefined && !OPEN.includes(id),
    )
    const wrong: unknown[] = []
    for (const operation of mutations) {
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

describe('what spec section 9 freezes', () => {
  test('operations, parameters, bodies and answers match their baseline', () => {
    const current = frozenPartOf(target.described)

    expect(compareWithBaseline<Frozen>('openapi', current, (before) => breakages(before, current))).toEqual([])
  })

  test('the schema of the ingestion event, v1, matches its baseline', () => {
    const current = frozenPartOf(target.described)
    const only = ({ schemas }: Frozen): Frozen => ({
      scopes: [],
      schemas: Object.fromEntries(
        Object.entries(schemas).filter(([name]) => name.endsWith('Event') && name !== 'AcceptedEvent'),
      ),
      operations: {
        ingestion: {
          id: 'ingestion',
          scope: null,
          parameters: {},
          body: {
            required: true,
            contents: Object.fromEntries(
              ['InvocationEvent', 'ObservationEvent'].map((name) => [name, { $ref: `#/components/schemas/${name}` }]),
            ),
          },
          replies: {},
        },
      },
    })

    expect(
      compareWithBaseline<Frozen>('ingestion', only(current), (before) => breakages(before, only(current))),
    ).toEqual([])
  })

  test('error codes, with status and retryability, match their baseline', () => {
    const current: Record<string, { status: number; retryable: boolean }> = Object.fromEntries(
      Object.entries(PROBLEMS).map(([code, { status, retryable }]) => [code, { status, retryable }]),
    )
    const lost = (before: typeof current): string[] =>
      Object.entries(before)
        .filter(([code, was]) => JSON.stringify(current[code]) !== JSON.stringify(was))
        .map(([code]) => `${code} is gone or means something else`)

    expect(compareWithBaseline('error-codes', current, lost)).toEqual([])
  })
})

/** As written, before the formatter pads the cells of tables. */
const unpadded = (text: string): string => text.replace(/ +/g, ' ').replace(/-{3,}/g, '---')

test('the table of changes that need a recent sign-in is that of the routes', async () => {
  const { text } = await send(target.credentials.base_url, { method: 'GET', path: '/openapi.json' })
  const { paths } = JSON.parse(text) as { paths: Record<string, Record<string, { summary?: string }>> }
  const rows = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods)
      .filter(
        ([, operation]) => path !== '/docs/errors/{code}' && JSON.stringify(operation).includes('STEP_UP_REQUIRED'),
      )
      .map(([method, { summary = '' }]) => `| \`${method.toUpperCase()} ${path}\` | ${summary} |`),
  )
  const table = ['| change | effect |', '| --- | --- |', ...rows].join('\n')
  const file = 'deploy/docs/access.md'
  const page = readFileSync(file, 'utf8')
  const shown = page.replace(/(<!-- step-up: generated -->\n)[\s\S]*(<!-- \/step-up -->)/, `$1\n${table}\n\n$2`)

  if (process.env['ATTRIBUTION_RENEW_BASELINES'] === '1') writeFileSync(file, shown)
  else expect(unpadded(page)).toBe(unpadded(shown))
  for (const change of [
    'PATCH /api/v1/settings',
    'POST /api/v1/webhooks',
    'DELETE /api/v1/webhooks/{id}',
    'POST /api/v1/prices',
  ])
    expect(table).toContain(`\`${change}\``)
})
