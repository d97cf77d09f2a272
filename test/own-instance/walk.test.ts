import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { SORT_FIELDS } from '../../internal/filters/filter-fields.js'
import { type Ask, type Asked, askAs, refusalOf } from '../support/ask.js'
import { listed } from '../support/attributed.js'
import { wireEvent } from '../support/gateway.js'
import { someOf } from '../support/run/rings.js'
import { launchService, type RunningService } from '../support/service.js'

/**
 * A reader who follows `next_cursor` sees each record once, whatever is inserted, overridden and disputed
 * meanwhile, and though the read model is killed on the way.
 *
 * With every run of the suite over some hundred records; over as many as ATTRIBUTION_WALK_RECORDS says on demand.
 */
const RECORDS = Number(process.env['ATTRIBUTION_WALK_RECORDS'] ?? 400)
const BULK = Math.min(RECORDS, 5_000)
const PAGE = RECORDS > 10_000 ? 200 : 100
/**
 * Of a writer, between two writes: each is an insert into all tables, and a long walk has to get through beside them.
 */
const PAUSE_MS = RECORDS > 10_000 ? 5_000 : 100
/** Walks at a time. */
const WALKERS = 3

let service: RunningService
let ask: Ask
let seeded: ReadonlySet<string>

const random = (below: number): number => Math.floor(Math.random() * below)
const someEvent = () =>
  wireEvent({
    ingestion_timestamp: new Date(Date.now() - random(10) * 86_400_000 - random(1_000)).toISOString(),
    provider: ['openai', 'anthropic', 'mistral'][random(3)],
    requested_model: ['gpt-4o', 'gpt-4o-mini', 'claude-sonnet-4'][random(3)],
    input_tokens: random(5) * 100,
    output_tokens: random(4) * 10,
    attributed_service: `service-${random(6)}`,
    attributed_identity: `person-${random(9)}@example.com`,
  })

const idOf = (invocationId: string): string => invocationId.replace('inv_', 'attr_')

beforeAll(async () => {
  const rates = ['ingest', 'read', 'control'].flatMap((name) => [`--rate-${name}`, '1000000'])
  service = await launchService({ roles: [], args: rates })
  ask = askAs(service.baseUrl, { 'x-api-key': service.credentials.api_key })
  const ids = new Set<string>()
  while (ids.size < RECORDS) {
    const { status, json } = await ask('POST', '/api/v1/invocations', Array.from({ length: BULK }, someEvent))
    expect([status, json.rejected]).toEqual([202, 0])
    for (const { invocation_id } of json.results) ids.add(idOf(invocation_id))
  }
  // Each part of the stream is attributed in its order: what came last is there last.
  await listed(ask, [...ids].slice(-200))
  seeded = ids
}, 600_000 + RECORDS)
afterAll(() => service.stop())

/** Asks again while the read model is unavailable, as a client that honours Retry-After would. */
async function askPatiently(path: string): Promise<Asked> {
  for (;;) {
    const answer = await ask('GET', path)
    if (answer.status !== 503) return answer
    expect(answer.headers.get('retry-after')).toMatch(/^\d+$/)
    await sleep(100)
  }
}

/** Follows the cursors to the end. @param between what happens on the way, after each page */
async function walk(query: string, between: (page: number) => void = () => undefined): Promise<string[]> {
  const ids: string[] = []
  let cursor: string | undefined
  for (let page = 1; ; page++) {
    const after = cursor === undefined ? '' : `&cursor=${cursor}`
    const { status, json } = await askPatiently(`/v1/attribution?limit=${PAGE}&${query}${after}`)
    expect(status).toBe(200)
    ids.push(...json.data.map(({ id }: { id: string }) => id))
    cursor = json.page.next_cursor
    expect(cursor !== undefined).toBe(json.page.has_more)
    if (json.page.has_more) expect(json.data).toHaveLength(PAGE)
    else return ids
    between(page)
  }
}

function expectEachOnce(ids: readonly string[]): void {
  const seen = new Set(ids)
  expect(ids.length - seen.size).toBe(0)
  expect([...seeded].filter((id) => !seen.has(id))).toEqual([])
}

/** Does something again and again until it is stopped. @returns stops it; resolves to how often it was done */
function keepOn(act: () => Promise<boolean>): () => Promise<number> {
  let goesOn = true
  let times = 0
  const going = (async () => {
    while (goesOn) {
      if (await act()) times += 1
      await sleep(PAUSE_MS)
    }
  })()
  return async () => {
    goesOn = false
    await going
    return times
  }
}

const anySeeded = (): string => [...seeded][random(Math.min(seeded.size, 5_000))] ?? ''
const REASON = { reason: 'The proxy does not say its service.' }

const inserting = () =>
  keepOn(async () => (await ask('POST', '/api/v1/invocations', [someEvent(), someEvent()])).status === 202)
const changing = () =>
  keepOn(async () => {
    const id = anySeeded()
    const [method, what] = [
      ['POST', 'override'],
      ['DELETE', 'override'],
      ['POST', 'dispute'],
      ['DELETE', 'dispute'],
    ][random(4)] as [string, string]
    const owner = { service: `service-${random(6)}`, owner: `team-${random(6)}` }
    const body = method === 'DELETE' ? undefined : what === 'override' ? { ...owner, ...REASON } : REASON
    return (await ask(method, `/v1/attribution/${id}/${what}`, body)).status < 300
  })

test(
  'a walk in every sort order yields each record once while records are added and changed',
  async () => {
    const writers = [inserting(), changing(), changing()]

    const sorts = someOf(SORT_FIELDS).map((field, i) => `sort=${i % 2 === 0 ? '-' : ''}${field}`)
    const walker = async (): Promise<void> => {
      for (let sort = sorts.shift(); sort !== undefined; sort = sorts.shift()) expectEachOnce(await walk(sort))
    }
    await Promise.all(Array.from({ length: WALKERS }, walker))
    // What an override moves from one filter to the next is in neither twice: both look as of their own first page.
    const some = 'filter[provider][in]=openai,anthropic,mistral&filter[output_state][ne]=disputed&sort=owner'
    const filtered = await walk(some)
    const done = await Promise.all(writers.map((stop) => stop()))

    expect(new Set(filtered).size).toBe(filtered.length)
    expect(done.every((times) => times > 0)).toBe(true)
  },
  600_000 + RECORDS * 10,
)

test(
  'a walk yields each record once although the store is killed on the way',
  async () => {
    const writers = [inserting(), changing()]
    const ids = await walk('sort=-cost_usd', (page) => {
      if (page === 3) process.kill(service.pid('store'), 'SIGKILL')
    })
    await Promise.all(writers.map((stop) => stop()))

    expectEachOnce(ids)
  },
  600_000 + RECORDS,
)

test('a cursor that was altered, or that belongs to other filters, is refused', async () => {
  const { json } = await ask('GET', '/v1/attribution?limit=1&sort=owner&filter[provider][ne]=nobody')
  const cursor: string = json.page.next_cursor
  const withCursor = (query: string) => ask('GET', `/v1/attribution?cursor=${cursor}${query}`)
  const altered = cursor.replace(/.$/, (last) => (last === 'A' ? 'B' : 'A'))

  expect((await withCursor('&sort=owner&filter[provider][ne]=nobody&limit=7')).status).toBe(200)
  expect((await withCursor('&filter%5Bprovider%5D%5Bne%5D=nobody&sort=owner')).status).toBe(200)
  for (const other of [
    '',
    '&sort=owner',
    '&sort=-owner&filter[provider][ne]=nobody',
    '&sort=owner&filter[provider][ne]=nobod',
    '&sort=owner&filter[provider][eq]=nobody',
    '&sort=owner&filter[provider][ne]=nobody&filter[service][ne]=nobody',
  ]) {
    const refused = await withCursor(other)
    expect([other, refusalOf(refused), refused.json.errors[0].pointer]).toEqual([
      other,
      [400, 'INVALID_CURSOR'],
      '/cursor',
    ])
  }
  const spoilt = await ask('GET', `/v1/attribution?sort=owner&filter[provider][ne]=nobody&cursor=${altered}`)
  expect(refusalOf(spoilt)).toEqual([400, 'INVALID_CURSOR'])
})

test('an invalid query is refused with the location of the fault', async () => {
  const wrong: readonly (readonly [query: string, pointer: string])[] = [
    ['limit=0', '/limit'],
    ['limit=201', '/limit'],
    ['limit=1&limit=1', '/limit'],
    ['sort=owner&sort=owner', '/sort'],
    ['cursor=a&cursor=a', '/cursor'],
    ['cursor=a', '/cursor'],
    ['sort=id', '/sort'],
    ['sort=__proto__', '/sort'],
    ['offset=10', ''],
    ['tenant_id=tnt_other', ''],
    ['filter=1', '/filter'],
    ['filter[__proto__][eq]=1', '/filter'],
    ['filter[constructor][prototype]=1', '/filter'],
    ['filter[tenant_id][eq]=tnt_other', '/filter'],
    ['filter[identity_hash][eq]=00', '/filter'],
    ['filter[owner][like]=a', '/filter/owner'],
    ['filter[owner][gt]=a', '/filter/owner'],
    ['filter[cost_usd][gt]=1e3', '/filter/cost_usd/gt'],
    ["filter[cost_usd][gt]=1' OR '1'='1", '/filter/cost_usd/gt'],
    ['filter[event_time][gt]=now()', '/filter/event_time/gt'],
    [`filter[owner][in]=${'a,'.repeat(201)}a`, '/filter/owner/in'],
    ['filter[owner][eq]=%ff', ''],
    ['filter[owner][eq]=%', ''],
    ['filter[owner][eq]=%00', '/filter/owner/eq'],
  ]
  for (const [query, pointer] of wrong) {
    const { status, json } = await ask('GET', `/v1/attribution?${query}`)
    expect([query, status, json.errors?.[0]?.pointer]).toEqual([query, 400, pointer])
  }
})

test('a list that fills a request line is refused or answered', async () => {
  const ids = Array.from({ length: 200 }, () => `attr_${randomUUID().replaceAll('-', '').slice(0, 26)}`).join(',')
  const answer = await fetch(`${service.baseUrl}/v1/attribution?filter[id][in]=${ids}`, {
    headers: { 'x-api-key': service.credentials.api_key },
  })

  expect([200, 400, 431]).toContain(answer.status)
})

test('a tenant with too many concurrent queries gets 429 and does not delay other tenants', async () => {
  const question = '/v1/attribution?filter[service][contains]=service&sort=energy_wh'
  const asking = Array.from({ length: 100 }, () => ask('GET', question))
  const taken = await ask('POST', '/api/v1/invocations', someEvent())
  const answers = await Promise.all(asking)

  expect(taken.status).toBe(202)
  const refused = answers.filter(({ status }) => status === 429)
  expect(refused.length).toBeGreaterThan(0)
  expect(answers.filter(({ status }) => status === 200).length).toBe(answers.length - refused.length)
  for (const answer of refused) {
    expect(refusalOf(answer)).toEqual([429, 'RATE_LIMITED'])
    expect(answer.headers.get('retry-after')).toBe('1')
  }
})

test('queries whose callers have disconnected free their slots', async () => {
  const leaving = new AbortController()
  const headers = { 'x-api-key': service.credentials.api_key }
  const asked = Array.from({ length: 36 }, () =>
    fetch(`${service.baseUrl}/v1/attribution?sort=owner`, { headers, signal: leaving.signal }).catch(() => undefined),
  )
  leaving.abort()
  await Promise.all(asked)

  for (;;) {
    const { status } = await ask('GET', '/v1/attribution?sort=owner')
    if (status === 200) break
    expect(status).toBe(429)
  }
})
