import type { z } from 'zod'
import { SCOPES, type Scope } from '../../auth/scopes.js'
import { type ErrorCode, PROBLEMS } from '../../problems/catalogue.js'
import { REASONS, renderProblem } from '../../problems/render.js'
import { type BodyContract, type Contents, type Operation, type ReplyContract, TAGS } from '../contract/operation.js'
import { problemDetails } from '../contract/problem-schema.js'
import type { Method, Route } from '../route.js'
import { type JsonSchema, type NamedSchemas, toJsonSchema } from './json-schema.js'
import { needsKey, problemsOf } from './problems-of.js'
import { describeWebhooks } from './webhooks.js'
import { DESCRIPTION, GRANTS } from './words.js'

export interface Instance {
  readonly baseUrl: string
  readonly errorDocsUrl: string
}

/** Of the API; its major part stands in every path. */
const API_VERSION = '1.0.0'

const METHODS: Readonly<Record<Method, string>> = { get: 'get', post: 'post', patch: 'patch', del: 'delete' }

interface Making {
  readonly instance: Instance
  readonly schemas: NamedSchemas
  /** Problem responses, which many operations share. */
  readonly responses: Map<string, object>
  /** Names of the headers that are referred to. */
  readonly headers: Set<string>
}

/** Describes routes in OpenAPI 3.1, as what goes out as JSON. */
export function describeRoutes(routes: readonly Route[], instance: Instance): object {
  const making: Making = { instance, schemas: new Map(), responses: new Map(), headers: new Set() }
  const paths: Record<string, Record<string, object>> = {}
  for (const route of routes) {
    const path = route.path.replace(/:(\w+)/g, '{$1}')
    paths[path] = { ...paths[path], [METHODS[route.method]]: describeRoute(route, making) }
  }
  const webhooks = describeWebhooks(making.schemas)
  const usedTags = new Set<string>([...routes.map(({ operation }) => operation.tag), 'Webhooks'])
  return {
    openapi: '3.1.0',
    info: {
      title: 'Attribution Service API',
      version: API_VERSION,
      description: DESCRIPTION,
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: instance.baseUrl }],
    tags: Object.entries(TAGS)
      .filter(([name]) => usedTags.has(name))
      .map(([name, description]) => ({ name, description })),
    paths,
    webhooks,
    components: {
      securitySchemes: securitySchemes(routes, instance),
      parameters: { IdempotencyKey: IDEMPOTENCY_KEY },
      headers: Object.fromEntries(Object.entries(HEADERS).filter(([name]) => making.headers.has(name))),
      responses: Object.fromEntries(making.responses),
      schemas: Object.fromEntries(making.schemas),
    },
  }
}

function describeRoute(route: Route, making: Making): object {
  const { operation } = route
  const parameters = [
    ...parametersIn('path', operation.parameters, making),
    ...parametersIn('query', operation.query, making),
    ...(needsKey(route) ? [{ $ref: '#/components/parameters/IdempotencyKey' }] : []),
  ]
  return {
    operationId: operation.id,
    tags: [operation.tag],
    summary: operation.summary,
    ...(operation.description !== undefined && { description: operation.description }),
    security: securityOf(route),
    ...(route.access !== 'public' && { 'x-rate-class': route.rateClass }),
    ...(parameters.length > 0 && { parameters }),
    ...(operation.body !== undefined && { requestBody: describeBody(operation.body, making) }),
    responses: { ...describeReplies(route, making), ...describeProblems(route, making) },
  }
}

const securityOf = (route: Route): object[] => {
  if (route.access === 'public') return []
  const scopes = route.access === 'any' ? [] : [route.access]
  if (route.isForPartners === true) return [{ partner: scopes }]
  return [{ oauth2: scopes }, { apiKey: scopes }]
}

function parametersIn(place: 'path' | 'query', parameters: Operation['parameters'], making: Making): object[] {
  return Object.entries(parameters ?? {}).map(([name, schema]) => {
    const { description, ...rest } = toJsonSchema(schema, 'input', making.schemas)
    return {
      name,
      in: place,
      required: place === 'path' || !schema.safeParse(undefined).success,
      ...(description !== undefined && { description }),
      schema: rest,
    }
  })
}

const describeBody = ({ description, contents, isOptional }: BodyContract, { schemas }: Making): object => ({
  ...(description !== undefined && { description }),
  required: isOptional !== true,
  content: describeContents(contents, 'input', schemas),
})

const describeContents = (contents: Contents, io: 'input' | 'output', schemas: NamedSchemas): object =>
  Object.fromEntries(
    Object.entries(contents).map(([mediaType, { schema, example }]) => [
      mediaType,
      { schema: toJsonSchema(schema, io, schemas), ...(example !== undefined && { example }) },
    ]),
  )

function describeReplies(route: Route, making: Making): object {
  const entries = Object.entries(route.operation.replies) as [string, ReplyContract][]
  return Object.fromEntries(
    entries.map(([status, { description, headers = {}, contents }]) => {
      const own = Object.entries(headers).map(([name, schema]) => [
        name,
        { required: !schema.safeParse(undefined).success, schema: toJsonSchema(schema, 'output', making.schemas) },
      ])
      const all = {
        ...(route.access === 'public' ? {} : referTo([...RATE_LIMIT_HEADERS, 'Cache-Control'], making)),
        ...(needsKey(route) ? referTo(['Idempotency-Replayed'], making) : {}),
        ...(status === '201' ? referTo(['Location'], making) : {}),
        ...Object.fromEntries(own),
      }
      const content = contents && { content: describeContents(contents, 'output', making.schemas) }
      return [status, { description, ...(Object.keys(all).length > 0 && { headers: all }), ...content }]
    }),
  )
}

/** One response a status: its codes, and the headers that come with them. */
function describeProblems(route: Route, making: Making): object {
  const codesOf = new Map<number, ErrorCode[]>()
  for (const code of problemsOf(route)) {
    const { status } = PROBLEMS[code]
    codesOf.set(status, [...(codesOf.get(status) ?? []), code].sort())
  }
  const { problemMembers, problemTypes = [] } = route.operation
  return Object.fromEntries(
    [...codesOf].map(([status, codes]) => {
      const isKnownCaller = route.access !== 'public' && AFTER_AUTHENTICATION.has(status)
      const response = () => describeProblem(status, codes, isKnownCaller, route.operation, making)
      if (problemMembers !== undefined || problemTypes.length > 0) return [status, response()]
      const name = [status, ...codes, ...(isKnownCaller ? ['limited'] : [])].join('.')
      if (!making.responses.has(name)) making.responses.set(name, response())
      return [status, { $ref: `#/components/responses/${name}` }]
    }),
  )
}

/** Statuses with which only a caller who is known is answered, so that they show the caller's budget. */
const AFTER_AUTHENTICATION: ReadonlySet<number> = new Set([403, 404, 409, 413, 415, 422, 429])

function describeProblem(
  status: number,
  codes: readonly ErrorCode[],
  isKnownCaller: boolean,
  { problemMembers: members, problemTypes = [] }: Pick<Operation, 'problemMembers' | 'problemTypes'>,
  making: Making,
): object {
  const { instance, schemas } = making
  const [first] = codes
  if (first === undefined) throw new Error(`there is no code for ${status}`)
  const narrowed = { status: { const: status }, error_code: { enum: codes } }
  const base = toJsonSchema(problemDetails, 'output', schemas)
  const schema: JsonSchema =
    members === undefined
      ? { allOf: [base, { properties: narrowed }] }
      : withProperties(toJsonSchema(problemDetails.extend(optional(members)), 'output', schemas), narrowed)
  return {
    description: `${REASONS[PROBLEMS[first].status]}: ${codes.join(', ')}.`,
    headers: {
      ...referTo(
        [
          'Cache-Control',
          'traceparent',
          ...(isKnownCaller ? RATE_LIMIT_HEADERS : []),
          ...(status === 401 ? ['WWW-Authenticate'] : []),
          ...(status === 429 || status === 503 ? ['Retry-After'] : []),
        ],
        making,
      ),
      ...(codes.includes('IDEMPOTENCY_IN_PROGRESS') && { 'Retry-After': RETRY_AFTER_IN_PROGRESS }),
    },
    content: {
      'application/problem+json': { schema, example: exampleProblem(first, instance) },
      ...Object.fromEntries(
        problemTypes.map((type) => [type, { schema: type === 'text/html' ? { type: 'string' } : schema }]),
      ),
    },
  }
}

const optional = (members: NonNullable<Operation['problemMembers']>): Record<string, z.ZodType> =>
  Object.fromEntries(Object.entries(members).map(([name, schema]) => [name, schema.optional()]))

const withProperties = (schema: JsonSchema, more: Record<string, JsonSchema>): JsonSchema => {
  const properties = schema['properties'] as Record<string, JsonSchema>
  const narrowed = Object.entries(more).map(([name, keywords]) => [name, { ...properties[name], ...keywords }])
  return { ...schema, properties: { ...properties, ...Object.fromEntries(narrowed) } }
}

const exampleProblem = (code: ErrorCode, { errorDocsUrl }: Instance): unknown =>
  JSON.parse(
    renderProblem(
      { code, detail: PROBLEMS[code].title },
      {
        instance: '/v1/attribution',
        traceId: '0af7651916cd43dd8448eb211c80319c',
        tenantId: PROBLEMS[code].status === 401 ? null : 'tnt_7v3k9q2m4x8n5c1r6t0w3y9zb0',
        errorDocsUrl,
      },
    ).body,
  )

const IDEMPOTENCY_KEY = {
  name: 'Idempotency-Key',
  in: 'header',
  required: true,
  description: 'A UUID or a ULID, made up for the request and kept for its retries; bare or quoted. Kept for 24 hours.',
  schema: { type: 'string', maxLength: 38 },
  example: '0f8fad5b-d9cb-469f-a165-70867728950e',
}

const whole = (description: string) => ({ description, required: true, schema: { type: 'integer', minimum: 0 } })

const HEADERS: Readonly<Record<string, object>> = {
  'RateLimit-Limit': whole('Requests, or events, that may come at once.'),
  'RateLimit-Remaining': whole('What is left of them.'),
  'RateLimit-Reset': whole('Seconds until there is more than what remains; 0 when nothing is used.'),
  'Retry-After': whole('Seconds to wait before a retry.'),
  'Idempotency-Replayed': {
    description: 'There when the answer is that of an earlier request with the same key.',
    schema: { type: 'string', const: 'true' },
  },
  Location: { description: 'Path of what was made.', required: true, schema: { type: 'string' } },
  'WWW-Authenticate': {
    description: 'How to authenticate (RFC 6750, RFC 9470).',
    required: true,
    schema: { type: 'string' },
  },
  'Cache-Control': { description: 'Not to be stored.', required: true, schema: { type: 'string', const: 'no-store' } },
  traceparent: {
    description: 'The trace that the answer belongs to (W3C Trace Context).',
    required: true,
    schema: { type: 'string' },
  },
}
/** Of an answer that may also be a conflict, which no waiting ends. */
const RETRY_AFTER_IN_PROGRESS = {
  description: 'Seconds to wait before a retry; with IDEMPOTENCY_IN_PROGRESS only.',
  required: false,
  schema: { type: 'integer', minimum: 0 },
}
const RATE_LIMIT_HEADERS = ['RateLimit-Limit', 'RateLimit-Remaining', 'RateLimit-Reset']

function referTo(names: readonly string[], { headers }: Making): Record<string, object> {
  for (const name of names) headers.add(name)
  return Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]))
}

function securitySchemes(routes: readonly Route[], { baseUrl }: Instance): object {
  const scopes: Readonly<Record<Scope, string>> = GRANTS
  const tokenUrl = `${baseUrl}/v1/oauth/token`
  return {
    oauth2: {
      type: 'oauth2',
      description: 'Access tokens of this instance: signed JWTs that live for at most 60 minutes.',
      flows: {
        clientCredentials: { tokenUrl, scopes },
        authorizationCode: {
          authorizationUrl: `${baseUrl}/v1/oauth/authorize`,
          tokenUrl,
          refreshUrl: tokenUrl,
          scopes,
        },
      },
    },
    apiKey: {
      type: 'apiKey',
      in: 'header',
      name: 'X-API-Key',
      description: `A long-lived key of the tenant, with scopes out of ${SCOPES.join(', ')}.`,
    },
    ...(routes.some((route) => route.access !== 'public' && route.isForPartners === true) && {
      partner: {
        type: 'oauth2',
        description:
          "Access tokens of partners' connectors. Good for the partner API only, which takes no other credential.",
        flows: { clientCredentials: { tokenUrl: `${baseUrl}/api/partner/v1/oauth/token`, scopes } },
      },
    }),
  }
}
