import { beforeAll, describe, expect, test } from 'vitest'
import { type Ask, askAs, refusalOf } from '../support/ask.js'
import { attributed, listedAll, untilAttributed } from '../support/attributed.js'
import { newTenantOfProduct } from '../support/product.js'
import type { Instance } from '../support/service.js'
import { storeOf } from '../support/service-store.js'

let service: Instance
let ask: Ask

const DAY = '2026-10-05'
const PERIOD = 'from=2026-10-01&to=2026-11-01'

/** Calls of so many people, each once. */
const callsOf = (service: string, from: number, to: number, stated: Record<string, unknown> = {}) =>
  Array.from({ length: to - from + 1 }, (_, i) => ({
    attributed_service: service,
    attributed_identity: `person-${from + i}@example.com`,
    ingestion_timestamp: `${DAY}T10:00:00Z`,
    estimated_cost_usd: '0.10',
    input_tokens: 100,
    output_tokens: 10,
    ...stated,
  }))

beforeAll(async () => {
  service = await newTenantOfProduct()
  ask = askAs(service.baseUrl, { 'x-api-key': service.credentials.api_key })
  for (const name of ['search', 'chat', 'tiny', 'sync']) {
    const told = await ask('POST', '/api/v1/directory/services', { name, owner: `team-${name}` })
    expect(told.status).toBe(201)
  }
  await listedAll(ask, [
    ...callsOf('search', 1, 7),
    ...callsOf('chat', 11, 16, { provider: 'anthropic', requested_model: 'claude-sonnet-4-5' }),
    ...callsOf('tiny', 21, 23),
    // Nobody in particular.
    { attributed_service: 'sync', ingestion_timestamp: `${DAY}T11:00:00Z`, estimated_cost_usd: '5' },
    { attributed_service: 'sync', ingestion_timestamp: '2026-10-06T18:45:00Z', requested_model: 'of-no-price-book' },
  ])
})

const usage = async (query: string) => {
  const answer = await ask('GET', `/v1/reports/usage?${PERIOD}&${query}`)
  expect(answer.status).toBe(200)
  return answer.json
}
/** What was asked to be told apart, folded rows as `…`. */
const costs = (json: { data: Record<string, string>[] }, label: string) =>
  Object.fromEntries(json.data.map((row) => [row['folded'] ? '…' : row[label], row['cost_usd']]))

describe('usage', () => {
  test('usage without groups is one row whose figures equal the records', async () => {
    const { data, page, report } = await usage('')

    expect(data).toHaveLength(1)
    expect(data[0]).toMatchObject({ cost_usd: '6.6', calls: 18, input_tokens: 1600, folded: false, unpriced_calls: 1 })
    expect(data[0].lower_bounds).toContain('cost_usd')
    expect(page).toEqual({ limit: 50, has_more: false })
    expect(report).toMatchObject({ from: '2026-10-01T00:00:00.000Z', to: '2026-11-01T00:00:00.000Z', group_by: [] })
  })

  test('usage folds a service of three people with the next smallest, and keeps one without people', async () => {
    expect(costs(await usage('group_by=service'), 'service')).toEqual({ search: '0.7', sync: '5', '…': '0.9' })
  })

  test('each answer is protected by itself: by provider nothing has to be folded', async () => {
    expect(costs(await usage('group_by=provider'), 'provider')).toEqual({ anthropic: '0.6', openai: '6' })
  })

  test('a filter that matches three people reports their parent and says so on each row and first of all', async () => {
    const answer = await usage('filter[provider][eq]=openai&filter[service][eq]=tiny')

    expect(Object.keys(answer)[0]).toBe('suppressed')
    expect(answer.suppressed).toEqual({
      reason: 'cohort_too_small',
      asked: [
        { field: 'provider', operator: 'eq', values: ['openai'] },
        { field: 'service', operator: 'eq', values: ['tiny'] },
      ],
      applied: [{ field: 'provider', operator: 'eq', values: ['openai'] }],
    })
    expect(answer.data).toMatchObject([{ cost_usd: '6', scope: 'parent' }])
    expect(answer.report.widened_filters).toEqual(['service'])
  })

  test('a filter that matches enough people, or none, is applied', async () => {
    const search = await usage('filter[service][eq]=search')
    const sync = await usage('filter[owner][contains]=sync')
    const nothing = await usage('filter[service][eq]=no-such-service')

    expect([search.data[0].cost_usd, search.report.widened_filters]).toEqual(['0.7', []])
    expect([sync.data[0].cost_usd, sync.report.widened_filters]).toEqual(['5', []])
    expect([nothing.data, nothing.suppressed]).toEqual([[], undefined])
    expect(sync.data[0]).not.toHaveProperty('scope')
  })

  test.each([
    'filter[service][ne]=tiny',
    'filter[service][in]=search,chat,sync',
    'filter[service][contains]=c',
    // The grouping by service has one row of both.
    'filter[service][eq]=chat',
    'filter[owner][ne]=team-tiny&group_by=provider',
  ])('a filter that leaves three people out is dropped as one that selects them: %s', async (query) => {
    const answer = await usage(query)

    expect(answer.suppressed).toMatchObject({ reason: 'cohort_too_small', applied: [] })
    expect(answer.report).toMatchObject({ total_cost_usd: '6.6' })
    expect(answer.report.widened_filters).toHaveLength(1)
    expect(answer.data[0].scope).toBe('parent')
  })

  test('a row says how far it can be trusted, and what a call costs', async () => {
    const { data, report } = await usage('group_by=service&sort=-calls&limit=2')

    expect(report).toMatchObject({ rows: 3, total_cost_usd: '6.6' })
    expect(data.map((row: Record<string, unknown>) => [row['service'], row['folded'], row['groups']])).toEqual([
      [null, true, 2],
      ['search', false, undefined],
    ])
    expect(data[1]).toMatchObject({
      people: 7,
      cost_share: '0.106061',
      cost_usd_per_call: '0.1',
      cost_usd_per_1k_tokens: '0.909090909091',
      confidence: '0.95',
      cost_usd_by_band: { chargeback_ready: '0.7', provisional: '0', estimated: '0' },
      unattributed: false,
      reasons: {},
    })
    const [sync] = (await usage('filter[service][eq]=sync&group_by=output_state')).data
    expect(sync).toMatchObject({
      reasons: { unpriced: { calls: 1, cost_usd: '0' } },
      lower_bounds: expect.arrayContaining(['cost_usd']),
    })
  })

  test('days of a report begin in the requested time zone', async () => {
    const inUtc = await usage('interval=day&filter[service][eq]=sync')
    const inIndia = await usage('interval=day&filter[service][eq]=sync&time_zone=Asia/Kolkata')

    expect(inIndia.report.time_zone).toBe('Asia/Kolkata')
    expect(inUtc.data.map(({ from, calls }: Record<string, unknown>) => [from, calls])).toEqual([
      ['2026-10-05T00:00:00.000Z', 1],
      ['2026-10-06T00:00:00.000Z', 1],
    ])
    expect(inIndia.data.map(({ from, calls }: Record<string, unknown>) => [from, calls])).toEqual([
      ['2026-10-04T18:30:00.000Z', 1],
      ['2026-10-06T18:30:00.000Z', 1],
    ])
  })

  test('the cursor of a report yields each row once', async () => {
    const whole = await usage('group_by=service,provider&interval=day')
    const seen: unknown[] = []
    let next = ''
    do {
      const part = await usage(`group_by=service,provider&interval=day&limit=1${next}`)
      seen.push(...part.data)
      next = part.page.has_more ? `&cursor=${part.page.next_cursor}` : ''
    } while (next !== '')

    expect(seen).toEqual(whole.data)
    expect(seen.length).toBeGreaterThan(2)
  })

  test('a report as of now goes on, though it was answered as of the newest instant that is complete', async () => {
    const query = `group_by=service,provider&interval=day&limit=1&as_of=${new Date().toISOString()}`
    const first = await usage(query)
    const second = await ask('GET', `/v1/reports/usage?${PERIOD}&${query}&cursor=${first.page.next_cursor}`)
    expect([second.status, first.page.has_more]).toEqual([200, true])
  })

  test('an override moves a call to another group of the report', async () => {
    const record = await attributed(ask, {
      attributed_service: 'sync',
      ingestion_timestamp: '2026-08-05T10:00:00Z',
      estimated_cost_usd: '2',
    })
    const before = await ask('GET', '/v1/reports/usage?from=2026-08-01&to=2026-09-01&group_by=service')
    const changed = await ask('POST', `/v1/attribution/${record.id}/override`, {
      service: 'search',
      owner: 'team-search',
      reason: 'It was theirs.',
    })
    // On a busy machine the override is queued, and takes effect after its answer.
    const after = async () =>
      costs((await ask('GET', '/v1/reports/usage?from=2026-08-01&to=2026-09-01&group_by=service')).json, 'service')

    expect(changed.status).toBeLessThan(300)
    expect(costs(before.json, 'service')).toEqual({ sync: '2' })
    await expect.poll(after).toEqual({ search: '2' })
  })
})

describe('allocated usage', () => {
  const SEPTEMBER = 'from=2026-09-01&to=2026-10-01'
  const at = (day: string) => ({ ingestion_timestamp: `2026-09-${day}T10:00:00Z` })
  const allocated = async (query: string) => {
    const answer = await ask('GET', `/v1/reports/usage?${SEPTEMBER}&${query}`)
    expect(answer.status).toBe(200)
    return answer.json
  }

  beforeAll(async () => {
    await ask('PATCH', '/api/v1/settings', { stage_b_enabled: false })
    const isPooled = ({ service: name }: { service: string }) => name === 'unallocated'
    await untilAttributed(ask, { ingestion_timestamp: '2026-07-01T10:00:00Z' }, isPooled)
    await listedAll(ask, [
      { attributed_service: 'search', estimated_cost_usd: '3', ...at('02') },
      { attributed_service: 'chat', estimated_cost_usd: '2', ...at('03') },
      { estimated_cost_usd: '1.000000000000000001', ...at('03') },
      { estimated_cost_usd: '2.000000000000000002', ...at('09') },
      { requested_model: 'of-no-price-book', ...at('10') },
    ])
    const store = storeOf(service)
    const weight = (name: string, share: string, isShown = true) => ({
      tenant_id: service.credentials.tenant_id,
      as_of: '2026-09-30 22:00:00.000',
      service: name,
      owner: name === '' ? '' : `team-${name}`,
      weight: share,
      is_shown: isShown,
    })
    await store.insert({
      table: 'allocation_weights',
      values: [weight('search', '0.5'), weight('chat', '0.25'), weight('tiny', '0.125', false), weight('', '0.125')],
      format: 'JSONEachRow',
    })
    await store.close()
  })

  test('allocated usage spreads pools by the weights shown and keeps totals to the last digit', async () => {
    const before = await allocated('group_by=service')
    const after = await allocated('group_by=service&allocate=true')

    expect(costs(before, 'service')).toEqual({ search: '3', chat: '2', unallocated: '3.000000000000000003' })
    expect(before.report).toMatchObject({ allocated: false })
    expect(before.report).not.toHaveProperty('allocation_weights')
    expect(before.report).not.toHaveProperty('not_spread_usd')
    // A quarter stays: an eighth has no name, and of another one it may not be told whose it is.
    expect(costs(after, 'service')).toEqual({
      search: '4.500000000000000001',
      chat: '2.750000000000000001',
      unallocated: '0.750000000000000001',
    })
    expect(after.report).toMatchObject({
      allocated: true,
      not_spread_usd: '0.750000000000000001',
      allocation_weights: [
        { from: '2026-09-01T00:00:00.000Z', to: '2026-10-01T00:00:00.000Z', as_of: '2026-09-30T22:00:00.000Z' },
      ],
    })
    expect((await allocated('allocate=true')).data).toMatchObject([{ cost_usd: '8.000000000000000003', calls: 5 }])
  })

  test('a share of a pool is marked as such, and as a lower bound where calls of the pool have no price', async () => {
    const of = async (query: string) => {
      const { data } = await allocated(`group_by=service&${query}`)
      return Object.fromEntries(
        data.map(({ service: name, lower_bounds, reasons, unattributed_cost_usd }: Record<string, unknown>) => [
          name,
          { lower_bounds, reasons, unattributed_cost_usd },
        ]),
      )
    }

    expect((await of(''))['search']).toEqual({
      lower_bounds: expect.not.arrayContaining(['cost_usd']),
      reasons: {},
      unattributed_cost_usd: '0',
    })
    expect(await of('allocate=true')).toMatchObject({
      search: {
        lower_bounds: expect.arrayContaining(['cost_usd']),
        reasons: { default_pool: { calls: 0, cost_usd: '1.500000000000000001' } },
        unattributed_cost_usd: '1.500000000000000001',
      },
      // What the pool has given away is not among its reasons.
      unallocated: {
        lower_bounds: expect.arrayContaining(['cost_usd']),
        reasons: {
          default_pool: { calls: 3, cost_usd: '0.750000000000000001' },
          unpriced: { calls: 1, cost_usd: '0' },
        },
        unattributed_cost_usd: '0.750000000000000001',
      },
    })
  })

  test('a report that compares months has previous figures, changes, and rows that are new or gone', async () => {
    const answer = await usage('group_by=service&compare=previous&sort=-change.cost_usd')

    const told = answer.data.map(
      (row: Record<string, string> & Record<'previous' | 'change' | 'change_percent', { cost_usd: string } | null>) => [
        row['service'],
        row['cost_usd'],
        row['compared'],
        row['previous']?.cost_usd,
        row['change']?.cost_usd,
        row['change_percent']?.cost_usd,
      ],
    )
    expect(told).toEqual([
      ['sync', '5', 'new', '0', '5', null],
      ['search', '0.7', 'both', '3', '-2.3', '-76.67'],
      ['unallocated', '0', 'gone', '3.000000000000000003', '-3.000000000000000003', '-100'],
      // In it is chat, which had two dollars in September.
      [null, '0.9', 'not_shown', undefined, undefined, undefined],
    ])
    expect(answer.data[1]).toMatchObject({
      change: { people: 7, calls: 6 },
      previous: { people: 0, cost_usd_per_call: '3' },
      change_percent: { people: null, calls: '600' },
    })
    expect(answer.report.compared_with).toEqual({
      from: '2026-09-01T00:00:00.000Z',
      to: '2026-10-01T00:00:00.000Z',
      total_cost_usd: '8.000000000000000003',
    })
  })

  test('a comparison with allocated pools has the shares of both months', async () => {
    const { data } = await allocated('group_by=service&allocate=true&compare=previous&sort=service')

    expect(data.map((row: Record<string, unknown>) => [row['service'], row['compared'], row['cost_usd']])).toEqual([
      ['chat', 'new', '2.750000000000000001'],
      ['search', 'both', '4.500000000000000001'],
      ['unallocated', 'new', '0.750000000000000001'],
    ])
  })

  test('adoption is compared with the month before', async () => {
    const { json } = await ask('GET', `/v1/reports/adoption?${PERIOD}&group_by=service&compare=previous&sort=service`)

    expect(json.data.at(-1)).toMatchObject({
      service: 'unallocated',
      compared: 'gone',
      change: { people: 0, calls: -3 },
    })
  })

  test('allocated usage filtered by owner holds the share of that owner', async () => {
    const { data } = await allocated('filter[owner][eq]=team-chat&allocate=true&interval=month')

    expect(data).toMatchObject([{ cost_usd: '2.750000000000000001', calls: 1 }])
  })

  test('allocated usage does not spread people', async () => {
    const answer = await ask('GET', `/v1/reports/adoption?${SEPTEMBER}&allocate=true`)

    expect(refusalOf(answer)).toEqual([400, 'INVALID_FILTER'])
  })
})

describe('adoption', () => {
  test('adoption counts people in groups of five or more', async () => {
    const { json } = await ask('GET', `/v1/reports/adoption?${PERIOD}&group_by=service&interval=month`)

    const people = Object.fromEntries(json.data.map((row: Record<string, unknown>) => [row['service'], row['people']]))
    expect(people).toEqual({ search: 7, sync: 0, null: 9 })
  })
})

describe('what is refused', () => {
  test.each([
    'group_by=identity',
    'group_by=service,service',
    'interval=fortnight',
    'time_zone=Mars/Base',
    'time_zone=%2B02:00',
    'time_zone=SystemV/PST8',
    'from=1960-01-01&to=1960-02-01',
    'from=2162-11-01&to=2162-12-01',
    'filter[event_time][gte]=1960-01-01T00:00:00Z&to=1961-01-01',
    'from=2026-10-01T10:07:00Z',
    'from=2026-13-01',
    'from=2026-10-02&to=2026-10-01',
    'from=2020-01-01&to=2026-10-01',
    'filter[span_id][eq]=abc',
    'filter[cost_usd][gt]=1',
    'filter[event_time][gt]=2026-10-01T00:00:00Z',
    'filter[__proto__][eq]=x',
    'limit=0',
    'limit=1&limit=2',
    'cursor=abc',
    'sort=interpretation',
    'sort=service',
    'group_by=evidence',
    'allocate=yes',
    'compare=next',
    'compare=previous&interval=month&from=2026-10-02&to=2026-11-01',
    'sort=-change.cost_usd',
    'service=search',
  ])('%s', async (query) => {
    const answer = await ask('GET', `/v1/reports/usage?${query}`)

    expect(answer.status).toBe(400)
    expect(['INVALID_FILTER', 'INVALID_CURSOR']).toContain(refusalOf(answer)[1])
  })

  test('a report request with a key without read:reporting is refused', async () => {
    const key = await ask('POST', '/api/v1/api-keys', { name: 'reader', scopes: ['read:attribution'] })

    const answer = await ask('GET', '/v1/reports/usage', undefined, { 'x-api-key': key.json.secret })

    expect(refusalOf(answer)).toEqual([403, 'INSUFFICIENT_SCOPE'])
  })
})
