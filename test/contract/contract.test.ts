import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { PLANTED, spoilt, valuesOf } from '../support/contract/arbitraries.js'
import { type Answer, answerChecker } from '../support/contract/check-answer.js'
import { type Described, type DescribedOperation, type Json, schemaChecker } from '../support/contract/described.js'
import { exportedFile } from '../support/contract/exported-file.js'
import { mergedRecord } from '../support/contract/merged.js'
import { trainModels } from '../support/contract/models.js'
import { type Partner, partnerToken, registerPartner } from '../support/contract/partner.js'
import { CASES, openTarget, type Sent, send, type Target, UNVERIFIED } from '../support/contract/target.js'
import { setIdentityProvider } from '../support/instance.js'
import { RUNS_BOTH_RINGS } from '../support/run/rings.js'

/**
 * Requests that are right, and such as are wrong in one way, at every operation that the instance describes. The inner
 * ring trains no model, which `product/evidence-card` does: each job here would go over the calls that one learns from.
 */

let target: Target
beforeAll(async () => {
  target = await openTarget(true)
  if (target.service !== undefined && RUNS_BOTH_RINGS) await trainModels(target.service)
})
afterAll(() => target.stop())

/** A request before the ids that are known by then stand in it. */
interface Draft {
  readonly operation: DescribedOperation
  readonly parameters: Readonly<Record<string, string>>
  /** Which of the ids that are known stands for a parameter that is an id. */
  readonly known: number
  readonly query: string
  /** Whether it goes on from a page that was given out. */
  readonly goesOn: boolean
  readonly headers: Readonly<Record<string, string | undefined>>
  readonly body: string | undefined
  /** Whether the body matches its schema. */
  readonly isSound: boolean
}

const KNOWN = '(known)'
const FORM = 'application/x-www-form-urlencoded'

/** Fields of OAuth whose values no schema can tell: what this instance's first client and its sign-in page have. */
type Ours = Readonly<Record<'client_id' | 'client_secret' | 'redirect_uri' | 'request', string>>
const OURS = ['client_id', 'client_secret', 'redirect_uri', 'request'] as const
/** Fields whose one right value is their example. */
const FIXED = { response_type: 'code', code_challenge: 'c'.repeat(43), code_challenge_method: 'S256' } as const

/** The same with our values in those fields, for the time being by name. */
function asOurs(value: Json): Json {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value
  const fields = Object.entries(value).map(([name, given]): [string, Json] => {
    if (OURS.some((our) => our === name)) return [name, `(${name})`]
    return [name, (FIXED as Readonly<Record<string, string>>)[name] ?? given]
  })
  // A client that authenticates at all says who it is and proves it.
  const isClients = fields.some(([name]) => name === 'grant_type' || name === 'token')
  const proof = isClients ? { client_id: '(client_id)', client_secret: '(client_secret)' } : {}
  return { ...Object.fromEntries(fields), ...proof }
}

const asForm = (value: Json): string =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
    ? new URLSearchParams(
        Object.entries(value).map(([name, given]): [string, string] => [name, asText(given)]),
      ).toString()
    : asText(value)

const asText = (value: Json): string => (typeof value === 'string' ? value : JSON.stringify(value))

const withOurs = (text: string, ours: Ours): string =>
  OURS.reduce((filled, name) => filled.replaceAll(`%28${name}%29`, encodeURIComponent(ours[name])), text)

/** Opens the sign-in page, whose form is a part of what a person sends. */
async function openSignIn({ credentials, described }: Target): Promise<{ ours: Ours; cookie: string }> {
  const { client_id, client_secret } = credentials
  const redirect_uri = 'http://127.0.0.1/callback'
  const path = described.operations.find(({ id }) => id === 'showSignIn')?.path ?? ''
  const query = new URLSearchParams({ client_id, redirect_uri, ...FIXED })
  const { text, headers } = await send(credentials.base_url, { method: 'GET', path: `${path}?${query}` })
  const request = /name="request" value="([^"]+)"/.exec(text)?.[1] ?? ''
  return {
    ours: { client_id, client_secret, redirect_uri, request },
    cookie: headers.get('set-cookie')?.split(';')[0] ?? '',
  }
}

/** Without members that do not fit, as no schema can tell. */
const without =
  (...names: readonly string[]) =>
  (value: Json): Json =>
    typeof value === 'object' && value !== null && !Array.isArray(value)
      ? Object.fromEntries(Object.entries(value).filter(([name]) => !names.includes(name)))
      : value

/** A region of the tenant's would shut the partner out for the rest of the run. */
const withoutRegion = without('residency_region')

/** No schema can tell which addresses are public, and have a receiver; half of these wait for their verification. */
const atOurReceiver = (value: Json): Json =>
  typeof value === 'object' && value !== null && 'url' in value && typeof value['url'] === 'string'
    ? { ...value, url: `${target.webhookUrl}${isEven(value) ? UNVERIFIED : ''}` }
    : value

/** The same of a bucket; which tags are declared, no schema can tell either. */
function atOurBucket(value: Json): Json {
  const fitting = without('group_by', 'filters', 'columns')(value)
  if (typeof fitting !== 'object' || fitting === null || !('destination' in fitting)) return fitting
  const { destination } = fitting
  return typeof destination === 'object' && destination !== null && !Array.isArray(destination)
    ? { ...fitting, destination: { ...destination, endpoint: target.webhookUrl } }
    : fitting
}

const WAYS_OF_REPLAY = [['event_id'], ['from_sequence', 'to_sequence'], ['from', 'to'], ['dead_letters']]

/**
 * No schema can tell that a replay names events in one way: of several that are named, the last stays, since the first,
 * an event by its id, hardly ever exists.
 */
function inOneWay(value: Json): Json {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value
  const others = WAYS_OF_REPLAY.filter((names) => names.some((name) => name in value)).slice(0, -1)
  return Object.fromEntries(Object.entries(value).filter(([name]) => !others.flat().includes(name)))
}

/** A value that is as likely as not, and the same whenever the same request is drawn. */
const isEven = (value: Json): boolean => JSON.stringify(value).length % 2 === 0

/** A challenge that was not sent is refused; without one, a new one is sent. */
function oftenWithoutChallenge(value: Json): Json {
  return typeof value === 'object' && value !== null && 'challenge' in value && isEven(value) ? {} : value
}

/** The more members change something at once, the likelier one of them does not fit: one or two stay. */
function few(value: Json): Json {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value
  const members = Object.entries(value)
  const from = JSON.stringify(value).length % Math.max(1, members.length)
  return Object.fromEntries(members.slice(from, from + (isEven(value) ? 1 : 2)))
}

/** A service that the directory has, which no schema can tell. */
const SERVICE = 'search-of-the-contract'
const forKnownService = (value: Json): Json =>
  typeof value === 'object' && value !== null && 'name' in value
    ? { name: value['name'] ?? '', service: SERVICE }
    : value

const garbage = fc.oneof(
  fc.string({ unit: 'grapheme', maxLength: 80 }),
  fc.constantFrom('', '.', '..', '%00', "' OR 1=1 --", '__proto__', 'x'.repeat(1_000), 'attr_', 'key_0', '🦊'),
)

const SOME_TOKEN = 'ovr_7v3k9q2m4x8n5c1r6t0w3y9zb0'

/** An operator that its field takes, and a token that a dry run may have given. */
function selecting(value: Json): Json {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value
  if ('token' in value) return { ...value, token: SOME_TOKEN }
  return { ...value, filters: [{ field: 'service', operator: 'ne', values: ['nobody'] }] }
}

/** What makes the values of an operation's body fit together, and fit this instance. */
const FITTED: Readonly<Record<string, (value: Json) => Json>> = {
  updateSettings: (value) => few(withoutRegion(value)),
  updateUser: few,
  updateClient: few,
  // Two ways to say one ceiling, a name of the tz database, and ceilings of groups, which need some.
  createBudget: without('monthly_ceiling_usd', 'time_zone', 'group_ceilings_usd'),
  updateBudget: few,
  assignUnknownName: forKnownService,
  createWebhook: atOurReceiver,
  createExportSchedule: atOurBucket,
  updateExportSchedule: atOurBucket,
  replayWebhook: inOneWay,
  verifyWebhook: oftenWithoutChallenge,
  overrideAttributions: selecting,
  // Ids of rules, and times in their order.
  dryRunMappingRule: without('replaces'),
  applyMappingRules: without('to', 'rule'),
  dryRunReattribution: without('to', 'principal', 'pool'),
  reattribute: without('to', 'principal', 'pool'),
  applyPrices: without('to'),
  dryRunUsageConvention: without('replaces'),
  applyUsageConventions: without('to'),
  // It would remove what others need.
  importDirectory: without('services', 'identities', 'principals'),
}

/** Arbitraries and checks of schemas, which cost more to make than to draw from. */
interface Schemas {
  readonly values: ReturnType<typeof valuesOf>
  readonly check: ReturnType<typeof schemaChecker>
}

/**
 * Requests to an operation.
 *
 * @param wrongPlaces of a hundred places of a request, how many are wrong
 */
function draftsOf(
  { values, check }: Schemas,
  wrongPlaces: number,
): (operation: DescribedOperation) => fc.Arbitrary<Draft> {
  const mostly = <T>(right: fc.Arbitrary<T>, wrong: fc.Arbitrary<T>): fc.Arbitrary<T> =>
    fc.oneof({ arbitrary: right, weight: 100 - wrongPlaces }, { arbitrary: wrong, weight: wrongPlaces })

  const bodies = ({
    id,
    body,
  }: DescribedOperation): fc.Arbitrary<Pick<Draft, 'body' | 'isSound'> & { mediaType: string }> => {
    if (body === undefined) return fc.constant({ body: undefined, isSound: true, mediaType: '' })
    const form = body.contents.get(FORM)
    const schema = form ?? body.contents.get('application/json') ?? {}
    const right = form === undefined ? values(schema) : values(schema).map(asOurs)
    const written = form === undefined ? JSON.stringify : asForm
    // What a form holds is text, whatever it was before.
    const read = (text: string): Json =>
      form === undefined ? JSON.parse(text) : Object.fromEntries(new URLSearchParams(text))
    const structured = mostly(right, spoilt(right))
      .map((value) => written(FITTED[id]?.(value) ?? value))
      .map((body) => ({ body, isSound: check(schema)(read(body)) === undefined }))
    const raw = fc.oneof(garbage, fc.constantFrom('{', '[', '"', '{"a":1,}', '\ufeff{}', '{}{}', 'null', '[]'))
    const unstructured = raw.map((text) => ({ body: text, isSound: text === '' && !body.required }))
    const types = mostly(
      fc.constant(form === undefined ? 'application/json' : FORM),
      fc.constantFrom('text/plain', 'application/xml', '', 'application/jsonx', 'multipart/form-data'),
    )
    return fc
      .tuple(mostly<Pick<Draft, 'body' | 'isSound'>>(structured, unstructured), types)
      .map(([written, mediaType]) => ({ ...written, mediaType }))
  }

  return (operation) => {
    const inPath = operation.parameters.filter(({ place }) => place === 'path')
    const inQuery = operation.parameters.filter(({ place }) => place === 'query')
    const parameters = Object.fromEntries(
      inPath.map(({ name, schema }) => {
        const own = schema['enum'] === undefined ? fc.constant(KNOWN) : values(schema).map(String)
        return [name, mostly(own, garbage)]
      }),
    )
    const isPaged = inQuery.some(({ name }) => name === 'cursor')
    const asked = inQuery.filter(({ name }) => name !== 'cursor')
    const [needed, optional] = [asked.filter(({ required }) => required), asked.filter(({ required }) => !required)]
    const valuesOfAll = (some: typeof asked) =>
      fc.record(Object.fromEntries(some.map(({ name, schema }) => [name, values(schema).map(String)])))
    // A few at a time: filters have more than a hundred, and one wrong one refuses them all.
    const rightQuery = fc
      .subarray(optional, { maxLength: Math.min(4, optional.length) })
      .chain((some) => valuesOfAll([...needed, ...some]))
      .map((chosen) => (isOfClient ? asForm(asOurs(chosen)) : new URLSearchParams(chosen).toString()))
    const wrongQuery = fc.oneof(
      fc.tuple(garbage, garbage).map(([name, value]) => new URLSearchParams({ [name]: value }).toString()),
      fc.constantFrom('limit=0', 'limit=1&limit=2', 'cursor=x', '%E0%A4%A', 'tenant_id=tnt_other', '&&=&'),
    )
    const isOfClient = inQuery.some(({ name }) => name === 'client_id')
    const keys = mostly(
      fc.uuid().map((key): string | undefined => key),
      fc.constantFrom(undefined, '', 'x', '"', '00000000000000000000000000'),
    )
    return fc
      .record({
        parameters: fc.record(parameters) as fc.Arbitrary<Record<string, string>>,
        known: fc.nat(),
        query: mostly(rightQuery, wrongQuery),
        goesOn: isPaged ? fc.boolean() : fc.constant(false),
        key: operation.parameters.some(({ name }) => name === 'Idempotency-Key') ? keys : fc.constant(undefined),
        written: bodies(operation),
        credential: mostly(fc.constant('valid'), fc.constantFrom('none', 'garbage')),
      })
      .map(({ parameters: chosen, known, query, goesOn, key, written, credential }) => ({
        operation,
        parameters: chosen,
        known,
        query,
        goesOn,
        body: written.body,
        isSound: written.isSound,
        headers: {
          'content-type': written.mediaType === '' ? undefined : written.mediaType,
          'idempotency-key': key,
          [operation.isForPartners ? 'authorization' : 'x-api-key']:
            credential === 'valid' ? KNOWN : credential === 'none' ? undefined : 'garbage',
        },
      }))
  }
}

/** An operation with a credential or a body can be called wrongly in more ways. */
const weightOf = ({ scope, body, parameters }: DescribedOperation): number =>
  scope === undefined && body === undefined && parameters.length === 0 ? 1 : 4

const LAST = 5
const ID = /\b([a-z]{3,4})_[0-9a-hjkmnp-tv-z]{26}\b/g
const DOWNLOAD = /\/v1\/exports\/files\/(dl_[\w-]+)/g
/** Files of the console, which carry a digest of their content. */
const FILE = /\/console\/assets\/([\w.-]+)/g

/** Ids and cursors that came in answers; never the ids of the credentials that the tests live on. */
class Known {
  private readonly ids = new Set<string>()
  /** By operation: what its next page is asked for with, query and all. */
  readonly nextQueries = new Map<string, string>()
  private readonly own: ReadonlySet<string>
  constructor({ api_key, client_id }: Target['credentials'], partner: Partner) {
    this.own = new Set([`key_${api_key.split('_')[2]}`, client_id, partner.id])
  }
  collect(text: string): void {
    for (const [id] of text.matchAll(ID)) if (!this.own.has(id) && this.ids.size < 10_000) this.ids.add(id)
    // A download is named by its permission and a file of the console by its content: neither is an id.
    for (const named of [DOWNLOAD, FILE]) for (const [, name = ''] of text.matchAll(named)) this.ids.add(name)
  }
  /** What was deleted by its path. */
  forget(path: string): void {
    for (const [id] of path.matchAll(ID)) this.ids.delete(id)
  }
  /** One of those that came up last with the prefix that the parameter's examples have: others may be gone. */
  like(schema: Described['schemas'][string] | undefined, choice: number): string {
    const [example] = (schema?.['examples'] ?? []) as readonly string[]
    const [prefix] = example?.match(/^[a-z]+[_-]/) ?? []
    const fitting = [...this.ids].filter((id) => prefix !== undefined && id.startsWith(prefix)).slice(-LAST)
    return fitting[choice % Math.max(1, fitting.length)] ?? example ?? 'unknown'
  }
}

/** What the tests come with. */
interface Credential {
  readonly apiKey: string
  /** `Authorization` at the partner API. */
  readonly bearer: string
}

/** A tenant names its own credentials only: ids with its tag, the first 32 bits. */
const withOwnTag = (text: string, apiKey: string): string =>
  text.replace(/"principal_id":"([a-z]{3}_).{7}(?=.{19}")/, `"principal_id":"$1${apiKey.split('_')[2]?.slice(0, 7)}`)

function requestOf(draft: Draft, ids: Known, { apiKey, bearer }: Credential, ours: Ours): Sent {
  const { operation, parameters, known, goesOn, headers, body } = draft
  const query = (goesOn ? ids.nextQueries.get(operation.id) : undefined) ?? draft.query
  const path = operation.path.replace(/\{(\w+)\}/g, (_, name: string) => {
    const { schema } = operation.parameters.find((parameter) => parameter.name === name) ?? {}
    const value = parameters[name] === KNOWN ? ids.like(schema, known) : parameters[name]
    // An empty or dotted segment would be another path.
    return encodeURIComponent(value === '' || value === '.' || value === '..' ? 'x' : (value ?? '')).slice(0, 2_000)
  })
  const present = Object.entries(headers).filter((header): header is [string, string] => header[1] !== undefined)
  return {
    method: operation.method,
    path: query === '' ? path : `${path}?${withOurs(query, ours)}`,
    headers: Object.fromEntries(
      present.map(([name, value]) => [name, value === KNOWN ? (name === 'authorization' ? bearer : apiKey) : value]),
    ),
    ...(body === undefined
      ? {}
      : {
          body: withOwnTag(withOurs(body, ours), apiKey).replace(
            SOME_TOKEN,
            ids.like({ examples: [SOME_TOKEN] }, known),
          ),
        }),
  }
}

/** Takes a merged record apart, which no drawn request finds. */
async function undoMerge(
  { operations }: Described,
  credentials: Target['credentials'],
  wrongIn: ReturnType<typeof answerChecker>,
  statuses: ReadonlyMap<string, Map<number, number>>,
): Promise<void> {
  const operation = operations.find(({ id }) => id === 'undoAttributionMerge')
  if (operation === undefined) throw new Error('the description lacks undoAttributionMerge')
  const sent = {
    method: operation.method,
    path: operation.path.replace('{id}', await mergedRecord(credentials)),
    headers: { 'x-api-key': credentials.api_key, 'idempotency-key': randomUUID() },
  }
  const answer = await send(credentials.base_url, sent)
  expect(wrongIn({ operation, path: pathOf(sent), planted: [], tenantId: credentials.tenant_id }, answer)).toEqual([])
  statuses.get(operation.id)?.set(answer.status, 1)
}

/** Nobody answers there, which the check of the set-up says. @returns the settings, which have its id */
async function providerOf({ credentials, service }: Target): Promise<string> {
  if (service === undefined) return ''
  const groups = [{ group: 'finance', scopes: ['read:reporting'] }]
  const stated = { name: 'Example SSO', issuer: 'http://127.0.0.1:9', client_id: 'attribution', groups }
  await setIdentityProvider(service, stated, 'secret')
  const sent = { method: 'GET', path: '/api/v1/settings', headers: { 'x-api-key': credentials.api_key } }
  for (;;) {
    const { text } = await send(credentials.base_url, sent)
    if (text.includes('"idp_')) return text
  }
}

/** Drawn requests may rename or delete it later. */
const makeService = ({ base_url, api_key }: Target['credentials']): Promise<Answer> =>
  send(base_url, {
    method: 'POST',
    path: '/api/v1/directory/services',
    headers: { 'x-api-key': api_key, 'idempotency-key': randomUUID(), 'content-type': 'application/json' },
    body: JSON.stringify({ name: SERVICE, owner: 'team-search' }),
  })

test(`${CASES} valid and invalid requests to all operations get what their description promises`, async () => {
  const { described, credentials } = target
  const wrongIn = answerChecker(described)
  const { ours, cookie } = await openSignIn(target)
  const partner = await registerPartner(credentials)
  // A second try of this test finds the first one's.
  expect([201, 409]).toContain((await makeService(credentials)).status)
  const known = { apiKey: credentials.api_key, bearer: `Bearer ${await partnerToken(credentials, partner)}` }
  const ids = new Known(credentials, partner)
  const statuses = new Map(described.operations.map(({ id }) => [id, new Map<number, number>()]))
  await undoMerge(described, credentials, wrongIn, statuses)
  ids.collect(await providerOf(target))
  ids.collect(await exportedFile(credentials))

  const fire = async (draft: Draft): Promise<void> => {
    const { operation } = draft
    const isOfPartner = ['issuePartnerToken', 'revokePartnerToken'].includes(operation.id)
    const drawn = requestOf(draft, ids, known, isOfPartner ? { ...ours, ...partner } : ours)
    const sent = operation.id === 'signIn' ? { ...drawn, headers: { ...drawn.headers, cookie } } : drawn
    const { 'x-api-key': sentKey, authorization } = sent.headers ?? {}
    const isKnown = operation.isForPartners ? authorization === known.bearer : sentKey === known.apiKey
    let answer: Answer
    for (;;) {
      answer = await send(credentials.base_url, sent)
      // Limits on who has no credential are there against failures, of which these are many: they stand for themselves.
      if (answer.status !== 429 || operation.scope === undefined) break
      const tenantId = isKnown ? credentials.tenant_id : undefined
      const limited = { operation, path: pathOf(sent), planted: [], tenantId }
      expect(wrongIn(limited, answer)).toEqual([])
      await sleep(Number(answer.headers.get('retry-after')) * 1_000)
    }
    const counts = statuses.get(operation.id)
    counts?.set(answer.status, (counts.get(answer.status) ?? 0) + 1)
    if (answer.status < 300) ids.collect(answer.text)
    if (answer.status < 300 && operation.method === 'DELETE') ids.forget(sent.path)
    const cursor = /"next_cursor":"([^"]+)"/.exec(answer.text)?.[1]
    if (cursor !== undefined) {
      const asked = new URLSearchParams(sent.path.split('?')[1] ?? '')
      asked.set('cursor', cursor)
      ids.nextQueries.set(operation.id, asked.toString())
    }

    // A public operation does not look at the key; clients and people say in the body who they are.
    const isPublic = operation.scope === undefined
    const tenantId = (isPublic ? answer.status !== 401 : isKnown) ? credentials.tenant_id : undefined
    const planted = [PLANTED, credentials.api_key, credentials.client_secret, known.bearer, partner.client_secret]
    const asked = { operation, path: pathOf(sent), planted, tenantId }
    expect({ sent, answer: answer.text, wrong: wrongIn(asked, answer) }).toMatchObject({ wrong: [] })
    if (operation.scope !== undefined && !isKnown) expect(answer.status).toBe(401)
    // Of many events in one body, or entries of a directory file, those that are wrong are rejected one by one.
    if (!draft.isSound && answer.status < 300) expect(answer.text).toMatch(/"(?:rejected|refusals)":[1-9]/)
  }
  const fireAt = (requests: fc.Arbitrary<Draft>, numRuns: number): Promise<void> =>
    fc.assert(fc.asyncProperty(requests, fire), { numRuns, endOnFailure: false })
  const isTaken = ({ id }: DescribedOperation): boolean =>
    [...(statuses.get(id)?.keys() ?? [])].some((status) => status < 400)

  const schemas = { values: valuesOf(described), check: schemaChecker(described, false) }
  const ofAny = draftsOf(schemas, 10)
  const choices = described.operations.map((operation) => ({
    arbitrary: ofAny(operation),
    weight: weightOf(operation),
  }))
  await fireAt(fc.oneof(...choices), CASES)
  const untaken = (): DescribedOperation[] =>
    described.operations.filter(
      (operation) => !isTaken(operation) && (RUNS_BOTH_RINGS || !operation.path.startsWith('/v1/models/{')),
    )
  // What an operation is for may have been gone whenever it was asked, or its fields did not fit together: right
  // requests, with those that make it, and what removes it last.
  const right = draftsOf(schemas, 0)
  for (let round = 0; round < 100 && untaken().length > 0; round++) {
    const paths = untaken().map(({ path }) => path)
    const making = described.operations.filter(
      (operation) =>
        (!isTaken(operation) || !['GET', 'DELETE'].includes(operation.method)) &&
        paths.some((path) => path.startsWith(operation.path) || collectionOf(path) === collectionOf(operation.path)),
    )
    const removing = making.filter(({ method }) => method === 'DELETE')
    await makeService(credentials)
    for (const operation of [...making.filter((each) => !removing.includes(each)), ...removing])
      await fireAt(right(operation), 1)
  }

  const refused = untaken().map(({ id }) => [id, ...(statuses.get(id) ?? [])])
  expect(refused).toEqual([])
}, 600_000)

/** `/api/v1/usage-conventions` of `/api/v1/usage-conventions/jobs/{id}`: jobs are made beside their own path. */
const collectionOf = (path: string): string => path.split('/').slice(0, 4).join('/')

const pathOf = ({ path }: Sent): string => path.split('?')[0] ?? ''

test('an operation with an Idempotency-Key answers a repeated request alike and marks the replay', async () => {
  const { described, credentials } = target
  const keyed = described.operations.filter(({ parameters }) =>
    parameters.some(({ name }) => name === 'Idempotency-Key'),
  )
  const values = valuesOf(described)
  const wrongIn = answerChecker(described)
  const bearer = `Bearer ${await partnerToken(credentials, await registerPartner(credentials))}`
  for (const operation of keyed) {
    const schema = operation.body?.contents.get('application/json')
    const [body] = schema === undefined ? [undefined] : fc.sample(values(schema), { numRuns: 1, seed: 7 })
    const sent: Sent = {
      method: operation.method,
      path: operation.path.replace(/\{\w+\}/g, 'unknown'),
      headers: {
        ...(operation.isForPartners ? { authorization: bearer } : { 'x-api-key': credentials.api_key }),
        'idempotency-key': randomUUID(),
        'content-type': 'application/json',
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    }
    const first = await send(credentials.base_url, sent)
    const again = await send(credentials.base_url, sent)

    expect({ id: operation.id, status: again.status }).toEqual({ id: operation.id, status: first.status })
    const asked = { operation, path: pathOf(sent), planted: [], tenantId: credentials.tenant_id }
    expect({ id: operation.id, wrong: wrongIn(asked, again) }).toEqual({ id: operation.id, wrong: [] })
    if (first.status < 300) expect(again.text).toBe(first.text)
    if (first.status < 300) expect(again.headers.get('idempotency-replayed')).toBe('true')
    expect(first.headers.get('idempotency-replayed')).toBeUndefined()
  }
})
