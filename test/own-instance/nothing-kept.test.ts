import { randomBytes, randomUUID } from 'node:crypto'
import { readdirSync, rmSync, statSync } from 'node:fs'
import { request as httpRequest } from 'node:http'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { gzipSync } from 'node:zlib'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Broker } from '../../internal/broker/connect.js'
import { environmentIn, freePort } from '../../internal/local/supervisor/supervised-instance.js'
import { connectStore } from '../../internal/store/client.js'
import { CANARY, litellmPayload } from '../internal/ingest/adapters/litellm-payload.js'
import { ask } from '../support/ask.js'
import { wireEvent } from '../support/gateway.js'
import { addTenant, connectTo, untilKnown } from '../support/instance.js'
import { launchService, type RunningService } from '../support/service.js'
import { textsIn, tracesInBroker, tracesInFiles, tracesInStore } from '../support/traces.js'

/**
 * Texts that nobody would write by chance, planted where a caller may put anything. None may be found again: not in an
 * answer, a log, a stream, a bucket, a table or a file.
 */
const planted: string[] = []
const plant = (place: string): string => {
  const text = `${place}${randomBytes(12).toString('hex')}`
  planted.push(text)
  return text
}
/** Stands in a field that is kept, so that a search which finds nothing is known to search. */
const KEPT = `kept${randomBytes(12).toString('hex')}`

let service: RunningService
let broker: Broker
let apiKey: string
let intakePort: number
/** Every answer: head and body. */
const answers: string[] = []

interface Sent {
  readonly method: string
  readonly path: string
  readonly headers?: Record<string, string>
  readonly body?: string | Buffer
}

/** Over Node's own client, which sends whatever header it is given. */
function send({ method, path, headers = {}, body }: Sent): Promise<{ status: number; text: string }> {
  return new Promise((resolve, reject) => {
    // Of a DELETE this client does not say by itself how long its body is.
    const length: Record<string, string> = body === undefined ? {} : { 'content-length': `${Buffer.byteLength(body)}` }
    const sending = httpRequest(`${service.baseUrl}${path}`, {
      method,
      headers: { 'x-api-key': apiKey, ...length, ...headers },
    })
    sending.once('error', reject)
    sending.once('response', (answer) => {
      const chunks: Buffer[] = []
      answer.on('data', (chunk: Buffer) => chunks.push(chunk))
      answer.once('error', reject)
      answer.once('end', () => {
        const text = Buffer.concat(chunks).toString()
        answers.push(`${method} ${path.split('?')[0]} ${answer.rawHeaders.join(' ')} ${text}`)
        resolve({ status: answer.statusCode ?? 0, text })
      })
    })
    sending.end(body)
  })
}

/** A header is taken away by an empty value. */
const post = (path: string, body: unknown, headers: Record<string, string> = {}) =>
  send({
    method: 'POST',
    path,
    body: typeof body === 'string' || Buffer.isBuffer(body) ? body : JSON.stringify(body),
    headers: { 'content-type': 'application/json', 'idempotency-key': plantedUuid(), ...headers },
  })

/** A key that is taken, too, is kept as its hash. */
function plantedUuid(): string {
  const key = randomUUID()
  planted.push(key)
  return key
}

const CONTENT_KEYS = ['prompt', 'messages', 'completion', 'content', 'input', 'output']
const EVENTS = '/api/v1/invocations'
const OBSERVATIONS = '/api/v1/events'
const observation = (fields: Record<string, unknown> = {}) => ({
  event_id: randomUUID(),
  type: 'heartbeat',
  source: 'proxy',
  occurred_at: new Date().toISOString(),
  data: { uptime: 1 },
  ...fields,
})

beforeAll(async () => {
  intakePort = await freePort()
  service = await launchService({
    args: [
      ...['--rate-read', '10000', '--rate-control', '10000', '--log-level', 'trace'],
      ...['--intake-port', String(intakePort)],
    ],
  })
  broker = await connectTo(service)
  ;({ apiKey } = await addTenant(broker, service))
  await untilKnown(service.baseUrl, apiKey)
  // The whole key, and its secret by itself.
  planted.push(apiKey, apiKey.slice(-58, -6))
})

afterAll(async () => {
  await service.stop()
  rmSync(service.dataDir, { recursive: true, force: true })
})

test('content that is planted in valid and invalid requests appears in no file, log or answer', async () => {
  await plantInEvents()
  await plantInBulk()
  await plantInObservations()
  await plantInHeaders()
  await plantInAddresses()
  await plantInOperations()
  await plantInCredentials()
  await plantInIntake()
  await plantInSpool()

  // All that was taken has gone its way when the last has.
  const last = await post(EVENTS, wireEvent({ attributed_service: KEPT }))
  const { invocation_id: id } = JSON.parse(last.text) as { invocation_id: string }
  const isAttributed = async () =>
    (await send({ method: 'GET', path: `${EVENTS}/${id}` })).text.includes('"attributed"')
  while (!(await isAttributed()));

  expect(textsIn(answers.join('\n'), planted)).toEqual([])
  const inBroker = await tracesInBroker(broker, [...planted, KEPT])
  await broker.close()
  const told = environmentIn(service.dataDir)
  const database = told['ATTRIBUTION_STORE_DATABASE'] ?? 'attribution'
  const store = connectStore({
    url: told['ATTRIBUTION_STORE_URL'] ?? '',
    user: told['ATTRIBUTION_STORE_USER'] ?? 'attribution',
    password: told['ATTRIBUTION_STORE_PASSWORD'] ?? '',
    database,
  })
  const inStore = await tracesInStore(store, database, [...planted, KEPT])
  await store.close()
  await service.stop()
  const inFiles = tracesInFiles(service.dataDir, [...planted, KEPT])
  const isOfKept = (trace: string): boolean => trace.startsWith(KEPT)

  expect(inBroker.filter((trace) => !isOfKept(trace))).toEqual([])
  expect(inStore.filter((trace) => !isOfKept(trace))).toEqual([])
  expect(inFiles.filter((trace) => !isOfKept(trace))).toEqual([])
  // What is to be kept is found wherever was looked.
  expect(inBroker).toContainEqual(expect.stringMatching(/ in invocations\./))
  expect(inStore).toContain(`${KEPT} in attributions.service`)
  expect(inFiles).toContainEqual(expect.stringMatching(/INVOCATIONS.*\.blk$/))
  expect(openToOthers(service.dataDir)).toEqual([])
})

/** What other users of the machine may read or list, also of what the broker and the engine write. */
const openToOthers = (folder: string): string[] =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((each) => each.isFile() || each.isDirectory())
    .map(({ parentPath, name }) => join(parentPath, name))
    .filter((path) => (statSync(path).mode & 0o077) !== 0)

async function plantInEvents(): Promise<void> {
  const statuses: number[] = []
  const sendEvent = async (body: unknown, headers?: Record<string, string>): Promise<void> => {
    statuses.push((await post(EVENTS, body, headers)).status)
  }
  await sendEvent(wireEvent({ unknown_field: plant('unknown'), [plant('unknownname')]: 1 }))
  await sendEvent(wireEvent({ nested: { deeper: [{ anything: plant('nested') }] } }))
  // Twice the same member: one of them is seen, neither is kept when it is not known.
  const twice = plant('twice')
  await sendEvent(JSON.stringify(wireEvent()).replace('{', `{"note":"${twice}","note":"${twice}",`))
  expect(statuses).toEqual([202, 202, 202])

  for (const key of CONTENT_KEYS) {
    await sendEvent(wireEvent({ [key]: plant(`content${key}`) }))
    await sendEvent(wireEvent({ tags: { [key]: plant(`tag${key}`) } }))
    // A short plain name would be named as the place of what is wrong; a text is not.
    await sendEvent(
      wireEvent({ nested: { [`${plant('parent')} and more`]: { [key.toUpperCase()]: [plant('deep')] } } }),
    )
  }
  await sendEvent(wireEvent({ provider: plant('long').repeat(20) }))
  await sendEvent(wireEvent({ provider: `${plant('control')}\u0000` }))
  await sendEvent(wireEvent({ event_id: plant('eventid') }))
  await sendEvent(wireEvent({ estimated_cost_usd: plant('cost') }))
  await sendEvent(wireEvent({ input_tokens: plant('tokens') }))
  await sendEvent(wireEvent({ ingestion_timestamp: plant('time') }))
  await sendEvent(wireEvent({ tags: { [plant('tagname').repeat(5)]: 'x' } }))
  await sendEvent(wireEvent({ tags: plant('tags') }))
  await sendEvent(`{"prompt": ${plant('broken')}`)
  await sendEvent(`"${plant('text')}"`)
  await sendEvent(Buffer.concat([Buffer.from(`{"event_id":"${plant('bytes')}`), Buffer.of(0xff), Buffer.from('"}')]))
  await sendEvent(wireEvent({ provider: plant('media') }), { 'content-type': `text/${plant('mediatype')}` })
  await sendEvent(plant('big').repeat(10_000))
  expect(statuses.slice(3).every((status) => status >= 400 && status < 500)).toBe(true)
}

async function plantInBulk(): Promise<void> {
  const good = JSON.stringify(wireEvent({ unknown_field: plant('bulkunknown') }))
  const lines = [
    good,
    JSON.stringify(wireEvent({ prompt: plant('bulkprompt') })),
    JSON.stringify(wireEvent({ provider: plant('bulklong').repeat(20) })),
    `{"broken": ${plant('bulkbroken')}`,
  ]
  const ndjson = { 'content-type': 'application/x-ndjson' }
  expect((await post(EVENTS, lines.join('\n'), ndjson)).status).toBe(202)
  expect((await post(EVENTS, gzipSync(lines.join('\n')), { ...ndjson, 'content-encoding': 'gzip' })).status).toBe(202)
  expect((await post(EVENTS, `[${lines.slice(0, 3).join(',')}]`)).status).toBe(202)
  expect((await post(EVENTS, lines.slice(1).join('\n'), ndjson)).status).toBe(422)
  expect((await post(EVENTS, plant('nogzip'), { ...ndjson, 'content-encoding': 'gzip' })).status).toBe(400)
}

/** What gateways send holds whole prompts and completions. */
async function plantInIntake(): Promise<void> {
  const sendIntake = async (path: string, body: string | Buffer, headers: Record<string, string> = {}) => {
    const answer = await fetch(`http://127.0.0.1:${intakePort}${path}`, {
      method: 'POST',
      body,
      headers: { 'x-api-key': apiKey, 'content-type': 'application/json', ...headers },
    })
    answers.push(`${[...answer.headers].join(' ')} ${await answer.text()}`)
    return answer.status
  }
  const text = plant('intake')
  const payload = JSON.stringify(litellmPayload()).replaceAll(CANARY, text)
  expect(await sendIntake('/intake/litellm', `[${payload}]`)).toBe(200)
  expect(await sendIntake('/intake/litellm', gzipSync(payload), { 'content-encoding': 'gzip' })).toBe(200)
  // Cut within a prompt: a line of its own, and a whole body.
  const cut = payload.slice(0, payload.indexOf(text) + text.length)
  expect(await sendIntake('/intake/litellm', `${payload}\n${cut}`)).toBe(200)
  expect(await sendIntake('/intake/litellm', `[${cut}`)).toBe(200)
  expect(await sendIntake('/intake/litellm', payload.replace('"model":"gpt-4o-mini"', `"model":["${text}"]`))).toBe(200)
  // Free metadata, under names of content and others: nobody has declared these keys.
  const free = Object.fromEntries(
    ['question', 'user_message', 'prompt:', 'note'].map((key, i) => [key, plant(`intakefree${i}`)]),
  )
  const [tag, plain] = [`note:${plant('intaketag')}`, plant('intakeplain')]
  const tagged = litellmPayload({ id: 'chatcmpl-free', request_tags: [tag, plain] }, { requester_metadata: free })
  expect(await sendIntake('/intake/litellm', JSON.stringify(tagged).replaceAll(CANARY, text))).toBe(200)
  const path = `/intake/${plant('intakepath')}`
  expect(await sendIntake(`${path}?${plant('intakequery')}`, payload)).toBe(404)
  forgetPath(path)
  expect(await sendIntake('/intake/litellm', payload, { 'x-api-key': plant('intakekey') })).toBe(401)
}

async function plantInObservations(): Promise<void> {
  const taken = await post(OBSERVATIONS, observation({ unknown_field: plant('seenunknown'), [plant('seenname')]: {} }))
  expect(taken.status).toBe(202)
  const refused = [
    observation({ data: { messages: plant('seencontent') } }),
    observation({ data: { nested: [{ Output: plant('seendeep') }] } }),
    observation({ source: plant('seenlong').repeat(20) }),
    observation({ data: plant('seendata') }),
  ]
  for (const body of refused) expect((await post(OBSERVATIONS, body)).status).toBe(422)
  expect((await post(OBSERVATIONS, `{"data": ${plant('seenbroken')}`)).status).toBe(400)
}

async function plantInHeaders(): Promise<void> {
  const list = (headers: Record<string, string>) => send({ method: 'GET', path: '/v1/attribution?limit=1', headers })
  const jwtOf = (claim: string): string =>
    [{ alg: 'RS256', kid: plant('kid') }, { sub: claim }]
      .map((part) => Buffer.from(JSON.stringify(part)).toString('base64url'))
      .join('.')
  const credentials = [
    { 'x-api-key': plant('apikey') },
    { 'x-api-key': `ak_live_${plant('live')}` },
    // Right in every character but the secret's.
    { 'x-api-key': apiKey.replace(/_[0-9a-z]{58}$/, `_${plant('secret').padEnd(58, '0').slice(0, 58)}`) },
    { authorization: `Bearer ${plant('bearer')}` },
    { authorization: `Bearer ${jwtOf(plant('subject'))}.${plant('signature')}` },
    { authorization: `Basic ${Buffer.from(`${plant('user')}:${plant('password')}`).toString('base64')}` },
    { authorization: plant('scheme') },
  ]
  for (const headers of credentials) expect((await list(headers)).status).toBe(401)

  const others = {
    'user-agent': plant('agent'),
    cookie: `session=${plant('cookie')}`,
    referer: `https://${plant('referer')}.example/?q=1`,
    'x-forwarded-for': plant('forwarded'),
    'x-anything': plant('header'),
    traceparent: plant('traceparent'),
    tracestate: `vendor=${plant('tracestate')}`,
    'accept-language': plant('language'),
  }
  expect((await list(others)).status).toBe(200)
  expect((await post(EVENTS, wireEvent(), others)).status).toBe(202)
  expect((await post(EVENTS, wireEvent(), { 'idempotency-key': plant('key') })).status).toBe(400)
}

/** While the broker is down, events are kept in the spool. */
async function plantInSpool(): Promise<void> {
  const spooled = (): string[] => tracesInFiles(join(service.dataDir, 'spool'), [...planted, KEPT])
  let traces: string[] = []
  while (traces.length === 0) {
    process.kill(service.pid('nats'), 'SIGKILL')
    const { status } = await post(EVENTS, wireEvent({ attributed_service: KEPT, unknown_field: plant('spooled') }))
    expect(status).toBe(202)
    traces = spooled()
    while (!(await fetch(`${service.baseUrl}/readyz`)).ok) await sleep(20)
  }
  expect(traces.filter((trace) => !trace.startsWith(KEPT))).toEqual([])
}

/** A problem's `instance` is the path of its request, so that what stands in a path comes back there alone. */
async function plantInAddresses(): Promise<void> {
  const queries = [
    `/v1/attribution?cursor=${plant('cursor')}`,
    `/v1/attribution?limit=${plant('limit')}`,
    `/v1/attribution?${plant('parameter')}=1`,
    `/v1/attribution?filter[provider][eq]=${plant('filter')}`,
    `/api/v1/audit-log?actor=${plant('actor').slice(0, 5)}.${plant('actor')}`,
    `/api/v1/audit-log?from=${plant('from')}`,
    `/readyz?surface=${plant('surface')}`,
    `/healthz?${plant('probe')}`,
  ]
  for (const path of queries) await send({ method: 'GET', path })
  await send({ method: 'POST', path: `/nothing?${plant('nowhere')}`, body: plant('nobody') })
  await send({ method: 'PUT', path: `${EVENTS}?${plant('method')}`, body: plant('putbody') })

  const paths = [`${EVENTS}/${plant('id')}`, `/v1/attribution/${plant('record')}`, `/${plant('unknownpath')}`]
  for (const path of paths) {
    await send({ method: 'GET', path })
    forgetPath(path)
  }
}

/** Of the last answer. */
function forgetPath(path: string): void {
  answers.push((answers.pop() ?? '').replaceAll(path, ''))
}

/** Whatever the service says that it can do, with something wrong in every place. */
async function plantInOperations(): Promise<void> {
  const description = (await (await fetch(`${service.baseUrl}/openapi.json`)).json()) as {
    readonly paths: Readonly<Record<string, Readonly<Record<string, unknown>>>>
  }
  let operations = 0
  for (const [template, methods] of Object.entries(description.paths)) {
    for (const method of ['get', 'post', 'put', 'patch', 'delete'].filter((name) => name in methods)) {
      operations++
      for (const headers of [
        {},
        { 'x-api-key': plant('operationkey'), authorization: `Bearer ${plant('operationtoken')}` },
      ]) {
        const path = template.replaceAll(/\{\w+\}/g, () => plant('operationpath'))
        const body = {
          secret: plant('operationsecret'),
          [`${plant('operationname')} and more`]: { messages: plant('operationcontent') },
        }
        await send({
          method: method.toUpperCase(),
          path: `${path}?${plant('operationparameter')}=${plant('operationquery')}`,
          headers: { 'content-type': 'application/json', 'idempotency-key': plantedUuid(), ...headers },
          ...(method === 'get' ? {} : { body: JSON.stringify(body) }),
        })
        forgetPath(path)
      }
    }
  }
  expect(operations).toBeGreaterThan(8)
}

/** Secrets that are shown once, and a password that is never shown. */
async function plantInCredentials(): Promise<void> {
  const create = async (path: string, body?: object) => {
    const { status, json } = await ask(service.baseUrl, 'POST', `/api/v1/${path}`, { 'x-api-key': apiKey }, body)
    expect(status).toBeLessThan(300)
    return json
  }
  const scopes = ['read:attribution']
  const key = await create('api-keys', { name: 'planted', scopes })
  const rotated = await create(`api-keys/${key.id}/rotate`)
  for (const { secret } of [key, rotated]) planted.push(secret, secret.slice(-58, -6))
  const client = await create('clients', { name: 'planted', scopes })
  const renewed = await create(`clients/${client.id}/rotate-secret`)
  for (const { client_secret } of [client, renewed]) planted.push(client_secret, client_secret.slice('cs_live_'.length))
  planted.push((await create('users', { username: 'planted', scopes })).password)
  await create('users', { username: 'chosen', scopes, password: plant('password') })
}
