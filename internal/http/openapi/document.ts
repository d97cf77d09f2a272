import { SCOPES, type Scope } from '../../auth/scopes.js'
import { type ErrorCode, PROBLEMS } from '../../problems/problem-catalogue.js'
import { REASONS, renderProblem } from '../../problems/render.js'
import { ownTurn } from '../../process/own-turn.js'
import { type BodyContract, type Contents, type Operation, type ReplyContract, TAGS } from '../contract/operation.js'
import { problemDetails } from '../contract/problem-schema.js'
import { type Method, type Route, scopesOf } from '../route.js'
import { describeBodies } from './body-texts.js'
import { type NamedSchemas, toJsonSchema } from './json-schema.js'
import { needsKey, problemsOf } from './problems-of.js'
import { describeWebhooks } from './webhooks.js'
import { DESCRIPTION, GRANTS } from './words.js'

export interface Instance {
  readonly baseUrl: string
  readonly errorDocsUrl: string
}

/** Version of the API; its major part is in every path. */
const API_VERSION = '1.0.0'

const METHODS: Readonly<Record<Method, string>> = {
  get: 'get',
  post: 'post',
  put: 'put',
  patch: 'patch',
  del: 'delete',
}

interface Draft {
  readonly instance: Instance
  readonly schemas: NamedSchemas
  /** Problem responses, shared by many operations. */
  readonly responses: Map<string, object>
  /** Names of the shared headers that responses reference. */
  readonly headers: Set<string>
}

/** Routes described in one turn of the event loop: some milliseconds. */
const ROUTES_AT_ONCE = 4

/** Describes routes as an OpenAPI 3.1 document, in many short turns, so that a gateway that serves goes on serving. */
export async function describeRoutes(all: readonly Route[], instance: Instance) {
  const routes = all.filter(({ isUndescribed }) => isUndescribed !== true)
  const draft: Draft = { instance, schemas: new Map(), responses: new Map(), headers: new Set() }
  const paths: Record<string, Record<string, object>> = {}
  for (const [i, route] of routes.entries()) {
    if (i % ROUTES_AT_ONCE === 0) await ownTurn()
    const path = route.path.replace(/:(\w+)/g, '{$1}')
    paths[path] = { ...paths[path], [METHODS[route.method]]: describeRoute(route, draft) }
  }
  const webhooks = describeWebhooks(draft.schemas)
  // Last: it adds texts to schemas by name, which are compared while they are collected.
  describeBodies(Object.values(paths).flatMap(Object.values), draft.schemas)
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
      headers: Object.fromEntries(Object.entries(HEADERS).filter(([name]) => draft.headers.has(name))),
      responses: Object.fromEntries(draft.responses),
      schemas: Object.fromEntries(draft.schemas),
    },
  }
}

function describeRoute(route: Route, draft: Draft): object {
  const { operation } = route
  const parameters = [
    ...parametersIn('path', operation.parameters, draft),
    ...parametersIn('query', operation.query, draft),
    ...(needsKey(route) ? [describeKey(operation)] : []),
  ]
  return {
    operationId: operation.id,
    tags: [operation.tag],
    summary: operation.summary,
    ...(operation.description !== undefined && { description: operation.description }),
    security: securityOf(route),
    ...(route.access !== 'public' && { 'x-rate-class': route.rateClass }),
    ...(parameters.length > 0 && { parameters }),
    ...(operation.body !== undefined && { requestBody: describeBody(operation.body, draft) }),
    responses: { ...describeReplies(route, draft), ...describeProblems(route, draft) },
  }
}

const describeKey = ({ withoutKey }: Operation): object =>
  withoutKey === undefined
    ? { $ref: '#/components/parameters/IdempotencyKey' }
    : { ...IDEMPOTENCY_KEY, required: false, description: `${IDEMPOTENCY_KEY.description} ${withoutKey}` }

const securityOf = (route: Route): object[] => {
  if (route.access === 'public') return []
  const schemes = route.isForPartners === true ? ['partner'] : ['oauth2', 'apiKey']
  // Each entry is enough by itself.
  const alternatives = route.access === 'any' ? [[]] : scopesOf(route.access).map((scope) => [scope])
  return alternatives.flatMap((scopes) => schemes.map((scheme) => ({ [scheme]: scopes })))
}

function parametersIn(location: 'path' | 'query', parameters: Operation['parameters'], draft: Draft): object[] {
  return Object.entries(parameters ?? {}).map(([name, schema]) => {
    const { description, ...rest } = toJsonSchema(schema, 'input', draft.schemas)
    return {
      name,
      in: location,
      required: location === 'path' || !schema.safeParse(undefined).success,
      ...(description !== undefined && { description }),
      schema: rest,
    }
  })
}

const describeBody = ({ description, contents, isOptional }: BodyContract, { schemas }: Draft): object => ({
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

function describeReplies(route: Route, draft: Draft): object {
  const entries = Object.entries(route.operation.replies) as [string, ReplyContract][]
  return Object.fromEntries(
    entries.map(([status, { description, headers = {}, contents }]) => {
      const own = Object.entries(headers).map(([name, schema]) => [
        name,
        { required: !schema.safeParse(undefined).success, schema: toJsonSchema(schema, 'output', draft.schemas) },
      ])
      const all = {
        ...(route.access === 'public' ? {} : referTo([...RATE_LIMIT_HEADERS, 'Cache-Control'], draft)),
        ...(needsKey(route) ? referTo(['Idempotency-Replayed'], draft) : {}),
        ...(status === '201' ? referTo(['Location'], draft) : {}),
        ...Object.fromEntries(own),
      }
      const content = contents && { content: describeContents(contents, 'output', draft.schemas) }
      return [status, { description, ...(Object.keys(all).length > 0 && { headers: all }), ...content }]
    }),
  )
}

/** One response per status, with its error codes and headers. */
function describeProblems(route: Route, draft: Draft): object {
  const codesOf = new Map<number, ErrorCode[]>()
  for (const code of problemsOf(route)) {
    const { status } = PROBLEMS[code]
    codesOf.set(status, [...(codesOf.get(status) ?? []), code].sort())
  }
  const { problem: form, problemTypes = [] } = route.operation
  return Object.fromEntries(
    [...codesOf].map(([status, codes]) => {
      const isKnownCaller = route.access !== 'public' && AFTER_AUTHENTICATION.has(status)
      const response = () => describeProblem(status, codes, isKnownCaller, route.operation, draft)
      if (form !== undefined || problemTypes.length > 0) return [status, response()]
      const name = [status, ...codes, ...(isKnownCaller ? ['limited'] : [])].join('.')
      if (!draft.responses.has(name)) draft.responses.set(name, response())
      return [status, { $ref: `#/components/responses/${name}` }]
    }),
  )
}

/** Statuses that are sent only after authentication, and therefore with the caller's RateLimit headers. */
const AFTER_AUTHENTICATION: ReadonlySet<number> = new Set([403, 404, 409, 413, 415, 422, 429])

function describeProblem(
  status: number,
  codes: readonly ErrorCode[],
  isKnownCaller: boolean,
  { problem: form = problemDetails, problemTypes = [] }: Pick<Operation, 'problem' | 'problemTypes'>,
  draft: Draft,
): object {
  const { instance, schemas } = draft
  const [first] = codes
  if (first === undefined) throw new Error(`no error code for status ${status}`)
  // One type for all: generated clients have a type of its own for each schema that is narrowed, or none.
  const schema = toJsonSchema(form, 'output', schemas)
  return {
    description: `${REASONS[PROBLEMS[first].status]}: ${codes.join(', ')}.`,
    'x-error-codes': codes,
    headers: {
      ...referTo(
        [
          'Cache-Control',
          'traceparent',
          ...(isKnownCaller ? RATE_LIMIT_HEADERS : []),
          ...(status === 401 ? ['WWW-Authenticate'] : []),
          ...(status === 429 || status === 503 ? ['Retry-After'] : []),
        ],
        draft,
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

const UUID = '[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}'
const ULID = '[0-7][0-9A-HJKMNP-TV-Za-hjkmnp-tv-z]{25}'

const IDEMPOTENCY_KEY = {
  name: 'Idempotency-Key',
  in: 'header',
  required: true,
  description:
    'A UUID or a ULID, bare or quoted: a new one per request, the same one for its retries. Stored for 24 hours.',
  schema: { type: 'string', maxLength: 38, pattern: `^(${UUID}|${ULID}|"(${UUID}|${ULID})")$` },
  example: '0f8fad5b-d9cb-469f-a165-70867728950e',
}

const integerHeader = (description: string) => ({
  description,
  required: true,
  schema: { type: 'integer', minimum: 0 },
})

const HEADERS: Readonly<Record<string, object>> = {
  'RateLimit-Limit': integerHeader('Maximum burst of requests, or of events.'),
  'RateLimit-Remaining': integerHeader('Remaining requests, or events.'),
  'RateLimit-Reset': integerHeader('Seconds until the remaining budget grows; 0 when the budget is full.'),
  'Retry-After': integerHeader('Seconds to wait before a retry.'),
  'Idempotency-Replayed': {
    description: 'Present when the reply is that of an earlier request with the same key.',
    schema: { type: 'string', const: 'true' },
  },
  Location: { description: 'Path of the created resource.', required: true, schema: { type: 'string' } },
  'WWW-Authenticate': {
    description: 'How to authenticate (RFC 6750, RFC 9470).',
    required: true,
    schema: { type: 'string' },
  },
  'Cache-Control': {
    description: 'Replies must not be cached.',
    required: true,
    schema: { type: 'string', const: 'no-store' },
  },
  traceparent: {
    description: 'Trace of the request (W3C Trace Context).',
    required: true,
    schema: { type: 'string' },
  },
}
/** For a 409, which may also be a conflict that no retry resolves. */
const RETRY_AFTER_IN_PROGRESS = {
  description: 'Seconds to wait before a retry; with IDEMPOTENCY_IN_PROGRESS only.',
  required: false,
  schema: { type: 'integer', minimum: 0 },
}
const RATE_LIMIT_HEADERS = ['RateLimit-Limit', 'RateLimit-Remaining', 'RateLimit-Reset']

function referTo(names: readonly string[], { headers }: Draft): Record<string, object> {
  for (const name of names) headers.add(name)
  return Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]))
}

function securitySchemes(routes: readonly Route[], { baseUrl }: Instance): object {
  const scopes: Readonly<Record<Scope, string>> = GRANTS
  const tokenUrl = `${baseUrl}/v1/oauth/token`
  return {
    oauth2: {
      type: 'oauth2',
      description: 'Access tokens of this instance: signed JWTs, valid for at most 60 minutes.',
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
      description: `A long-lived key of the tenant, with any of the scopes ${SCOPES.join(', ')}.`,
    },
    ...(routes.some((route) => route.access !== 'public' && route.isForPartners === true) && {
      partner: {
        type: 'oauth2',
        description:
          'Access tokens of partner connectors. Valid for the partner API only, which accepts no other credential.',
        flows: { clientCredentials: { tokenUrl: `${baseUrl}/api/partner/v1/oauth/token`, scopes } },
      },
    }),
  }
}
