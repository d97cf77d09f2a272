import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { eventEnvelope } from '../../../../internal/events/event-contract.js'
import { json, type Operation } from '../../../../internal/http/contract/operation.js'
import { PAGE_PARAMETERS, pageOf } from '../../../../internal/http/contract/page.js'
import { describeRoutes } from '../../../../internal/http/openapi/document.js'
import { type NamedSchemas, toJsonSchema } from '../../../../internal/http/openapi/json-schema.js'
import { problemsOf } from '../../../../internal/http/openapi/problems-of.js'
import type { Route, TenantRoute } from '../../../../internal/http/route.js'
import { hashIdempotencyKey } from '../../../../internal/ids/key-hash.js'
import { sipKey } from '../../../../internal/ids/siphash.js'
import { instant, name } from '../../../../internal/text/plain-text.js'
import { drawn } from '../../../support/run/rings.js'

const INSTANCE = { baseUrl: 'https://api.example', errorDocsUrl: 'https://api.example/docs/errors' }
const thing = z.object({ name: z.string(), size: z.int() }).meta({ id: 'Thing' })

const operation = (more: Partial<Operation> = {}): Operation => ({
  id: 'doIt',
  tag: 'Contract',
  summary: 'Do it',
  replies: { 200: { description: 'Done.', contents: json(thing) } },
  ...more,
})
const route = (more: Partial<TenantRoute> = {}): TenantRoute => ({
  method: 'get',
  path: '/things',
  access: 'read:attribution',
  rateClass: 'read',
  operation: operation(),
  handle: () => undefined,
  ...more,
})
const open: Route = { method: 'post', path: '/open', access: 'public', operation: operation(), handle: () => undefined }

// biome-ignore lint/suspicious/noExplicitAny: read as clients read it
const described = async (...routes: readonly Route[]): Promise<any> =>
  JSON.parse(JSON.stringify(await describeRoutes(routes, INSTANCE)))

describe('the problems of a route follow from its declaration', () => {
  const codes = (one: Route): string[] => [...problemsOf(one)].sort()
  const OF_ALL = ['INTERNAL_ERROR', 'LENGTH_REQUIRED', 'MALFORMED_REQUEST', 'SERVICE_UNAVAILABLE']
  const OF_A_CREDENTIAL = ['EXPIRED', 'INSUFFICIENT_SCOPE', 'INVALID_CREDENTIALS', 'RATE_LIMITED']
  const with_ = (...more: readonly string[]): string[] => [...new Set([...OF_ALL, ...OF_A_CREDENTIAL, ...more])].sort()

  test.each<[string, Route, string[]]>([
    ['a public route', open, OF_ALL],
    ['a route with a credential', route(), with_('INVALID_FILTER')],
    [
      'a route with a parameter',
      route({ operation: operation({ parameters: { id: z.string() } }) }),
      with_('NOT_FOUND', 'TENANT_MISMATCH', 'INVALID_FILTER'),
    ],
    [
      'a collection',
      route({ operation: operation({ query: PAGE_PARAMETERS }) }),
      with_('INVALID_FILTER', 'INVALID_CURSOR', 'TENANT_MISMATCH'),
    ],
    [
      'a mutation',
      route({ method: 'post', needsStepUp: true, operation: operation({ body: { contents: json(thing) } }) }),
      with_(
        'IDEMPOTENCY_KEY_REQUIRED',
        'IDEMPOTENCY_CONFLICT',
        'IDEMPOTENCY_IN_PROGRESS',
        'PAYLOAD_TOO_LARGE',
        'UNSUPPORTED_MEDIA_TYPE',
        'VALIDATION_FAILED',
        'STEP_UP_REQUIRED',
      ),
    ],
    [
      'a route with its own problem',
      route({ operation: operation({ problems: ['CONFLICT'] }) }),
      with_('CONFLICT', 'INVALID_FILTER'),
    ],
  ])('%s', (_, one, expected) => {
    expect(codes(one)).toEqual(expected)
  })
})

describe('an OpenAPI description', () => {
  test('has methods, parameters and security schemes as OpenAPI defines them', async () => {
    const { paths } = await described(
      open,
      route({ method: 'del', path: '/things/:id', operation: operation({ parameters: { id: z.string() } }) }),
    )

    expect(paths['/open'].post.security).toEqual([])
    expect(paths['/open'].post.parameters).toBeUndefined()
    expect(paths['/things/{id}'].delete).toMatchObject({
      security: [{ oauth2: ['read:attribution'] }, { apiKey: ['read:attribution'] }],
      parameters: [
        { name: 'id', in: 'path', required: true, schema: { type: 'string' } },
        { $ref: '#/components/parameters/IdempotencyKey' },
      ],
    })
  })

  test('has the Idempotency-Key as it is read', async () => {
    const { components } = await described(route({ method: 'post' }))
    const { maxLength, pattern } = components.parameters.IdempotencyKey.schema
    const pure = new RegExp(pattern, 'u')
    const key = fc.oneof(
      fc.uuid(),
      fc.ulid(),
      fc.ulid().map((ulid) => ulid.toLowerCase()),
    )
    const mark = fc.constantFrom('', '', '"', ' ')
    const spoiled = fc.tuple(key, fc.nat(40), fc.constantFrom('', '8', 'I', '-', '"'))
    const texts = fc.tuple(
      mark,
      fc.oneof(
        key,
        spoiled.map(([text, at, char]) => text.slice(0, at) + char + text.slice(at + 1)),
      ),
      mark,
    )

    fc.assert(
      fc.property(
        texts.map((parts) => parts.join('')),
        (text) => {
          const isRead = hashIdempotencyKey(sipKey(new Uint8Array(16)), 0, text, new Int32Array(4))
          return (pure.test(text) && text.length <= maxLength) === isRead
        },
      ),
      { numRuns: drawn(2_000) },
    )
  })

  test('describes a member of a body as that of the answer, where it has no text of its own', async () => {
    const text = (description: string) => z.string().meta({ description })
    const shown = z.object({ name: text('Its name.'), kind: text('Its kind.') }).meta({ id: 'Shown' })
    const patch = z.object({ name: z.string(), kind: text('Another kind.'), size: z.int() }).meta({ id: 'Patch' })
    const one = operation({
      body: { contents: json(patch) },
      replies: { 200: { description: 'Done.', contents: json(shown) } },
    })

    const { components } = await described(route({ method: 'patch', operation: one }))

    const { name, kind, size } = components.schemas.Patch.properties
    expect([name, kind, size].map(({ description }) => description)).toEqual(['Its name.', 'Another kind.', undefined])
  })

  test('describes so also a body that has the schema of a webhook', async () => {
    const shown = z.object({ created_at: z.string().meta({ description: 'When it was.' }) })
    const one = operation({
      body: { contents: json(eventEnvelope.meta({ id: 'EventEnvelope' })) },
      replies: { 200: { description: 'Done.', contents: json(shown) } },
    })

    const { components } = await described(route({ method: 'post', operation: one }))

    expect(components.schemas.EventEnvelope.properties.created_at.description).toBe('When it was.')
  })

  test('allows additional members in replies and bodies', async () => {
    const { components } = await described(route({ operation: operation({ body: { contents: json(pageOf(thing)) } }) }))

    expect(JSON.stringify(components.schemas)).not.toContain('"additionalProperties":false')
    expect(components.schemas.Thing.required).toEqual(['name', 'size'])
  })

  test('has a response for each status of its problems, with their codes', async () => {
    const { paths, components } = await described(route({ method: 'post' }))
    const { responses } = paths['/things'].post
    const conflict = components.responses[responses['409'].$ref.replace('#/components/responses/', '')]

    expect(Object.keys(responses)).toEqual([
      '200',
      '400',
      '401',
      '403',
      '409',
      '411',
      '413',
      '422',
      '429',
      '500',
      '503',
    ])
    expect(conflict['x-error-codes']).toEqual(['IDEMPOTENCY_IN_PROGRESS'])
    expect(Object.keys(conflict.headers)).toEqual(expect.arrayContaining(['RateLimit-Remaining', 'Retry-After']))
  })

  test('has no dangling references and no unused components', async () => {
    const text = JSON.stringify(await described(open, route(), route({ method: 'post' })))
    const referred = new Set(
      [...text.matchAll(/"#\/components\/(\w+)\/([^"]+)"/g)].map(([, kind, name]) => `${kind} ${name}`),
    )
    const { securitySchemes: _, ...components } = (JSON.parse(text) as { components: Record<string, object> })
      .components
    const present = Object.entries(components).flatMap(([kind, all]) =>
      Object.keys(all).map((name) => `${kind} ${name}`),
    )

    expect(present.sort()).toEqual([...referred].sort())
  })
})

describe('a named schema', () => {
  test('is defined once, under its name', () => {
    const named: NamedSchemas = new Map()

    expect(toJsonSchema(thing, 'output', named)).toEqual({ $ref: '#/components/schemas/Thing' })
    expect(toJsonSchema(z.array(thing), 'output', named)).toEqual({
      type: 'array',
      items: { $ref: '#/components/schemas/Thing' },
    })
    expect([...named.keys()]).toEqual(['Thing'])
  })

  test('cannot have the name of another schema', () => {
    const named: NamedSchemas = new Map()
    toJsonSchema(z.string().meta({ id: 'Taken' }), 'output', named)

    expect(() => toJsonSchema(z.int().meta({ id: 'Taken' }), 'output', named)).toThrow('Taken')
  })

  test('expresses our own keywords in standard ones', () => {
    const schema = toJsonSchema(z.object({ at: instant(), name: name() }), 'input', new Map())

    expect(schema).toMatchObject({
      properties: { at: { format: 'date-time' }, name: { maxLength: 256, 'x-bytes-max': 256 } },
    })
  })
})
