import type { ClickHouseClient } from '@clickhouse/client'
import fc from 'fast-check'
import { beforeAll, expect, test } from 'vitest'
import { parseSum } from '../../../internal/units/quantity.js'
import { TENANT } from '../../support/scope-keys.js'
import { serveReports } from '../../support/serve-reports.js'

const NOW_MS = Date.UTC(2026, 11, 2)
const MONTHS = ['2026-10', '2026-11'] as const

interface Call {
  readonly month: (typeof MONTHS)[number]
  readonly service: string
  readonly model: string
  /** 0: nobody */
  readonly person: number
  readonly usd: string
  readonly tokens: number
  readonly isUnpriced?: boolean
}

let client: ClickHouseClient
let url: string

beforeAll(async () => {
  ;({ client, url } = await serveReports(NOW_MS))
})

let calls = 0
const insert = (tenant: string, all: readonly Call[]) =>
  client.insert({
    table: 'attributions',
    values: all.map(({ month, service, model, person, usd, tokens, isUnpriced = false }) => ({
      tenant_id: tenant,
      id: String(calls++).padStart(16, '0'),
      event_time: `${month}-15 10:00:00`,
      valid_from: `${month}-15 10:00:01`,
      service,
      owner: `team-${service}`,
      served_model: model,
      pathway_category: 'application_direct',
      stage_origin: 'stage_a',
      cost_usd: isUnpriced ? '0' : usd,
      cost_basis: isUnpriced ? 'unpriced' : 'price_book',
      input_tokens: tokens,
      identity_hash: person === 0 ? '\0'.repeat(16) : String(person).padEnd(16, '-'),
    })),
    format: 'JSONEachRow',
  })

// biome-ignore lint/suspicious/noExplicitAny: the answer is what is being checked
async function ask(path: string, tenant = TENANT, status = 200): Promise<any> {
  const answer = await fetch(`${url}${path}`, { headers: { 'x-api-key': `${tenant}:read:reporting` } })
  const json = await answer.json()
  expect(answer.status, JSON.stringify(json)).toBe(status)
  return json
}
const NOVEMBER = 'from=2026-11-01&to=2026-12-01'
const OCTOBER = 'from=2026-10-01&to=2026-11-01'
const changes = (query = '', tenant = TENANT) => ask(`/api/v1/reports/changes?${NOVEMBER}&${query}`, tenant)

/** Six people with a call each. */
const six = (month: Call['month'], service: string, usd: string, tokens = 100, model = 'gpt-4o'): Call[] =>
  [1, 2, 3, 4, 5, 6].map((person) => ({ month, service, model, person, usd, tokens }))

test('movers are named by all dimensions, with their price and volume, and add up to the difference', async () => {
  const tenant = 'tnt_movers'
  await insert(tenant, [
    ...six('2026-10', 'chat', '1'),
    ...six('2026-11', 'chat', '2'),
    ...six('2026-10', 'search', '3'),
    ...six('2026-11', 'search', '3', 100, 'gpt-4o-mini'),
    ...six('2026-11', 'search', '3', 100, 'gpt-4o-mini'),
    ...six('2026-10', 'steady', '7'),
    ...six('2026-11', 'steady', '7'),
  ])

  const { whole, increases, decreases, others, rest, explains_most: most, report } = await changes('', tenant)

  // All dimensions together say no more.
  expect(most).toEqual({ group_by: ['served_model'], served_model: 'gpt-4o-mini' })
  expect(whole).toMatchObject({ change_usd: '24', change_percent: '36.36' })
  expect(increases).toMatchObject([
    {
      service: 'search',
      served_model: 'gpt-4o-mini',
      pathway_category: 'application_direct',
      compared: 'new',
      change_usd: '36',
      effects: { volume_usd: '36', size_usd: '0', price_usd: '0' },
      now: { cost_usd: '36', calls: 12, tokens: 1_200 },
      before: { cost_usd: '0', calls: 0 },
    },
    { service: 'chat', compared: 'both', change_usd: '6', effects: { volume_usd: '0', price_usd: '6' } },
  ])
  expect(decreases).toMatchObject([{ service: 'search', served_model: 'gpt-4o', compared: 'gone', change_usd: '-18' }])
  expect(others).toMatchObject({ groups: 1, change_usd: '0', now: { cost_usd: '42' } })
  expect(rest).toBeNull()
  expect(report.compared_with).toEqual({ from: '2026-10-01T00:00:00.000Z', to: '2026-11-01T00:00:00.000Z' })
})

test('a group of too few people in either period is in the rest, and so is what it is folded with', async () => {
  const tenant = 'tnt_small'
  await insert(tenant, [
    ...six('2026-10', 'chat', '1'),
    ...six('2026-11', 'chat', '2'),
    ...six('2026-10', 'search', '5'),
    ...six('2026-11', 'search', '9'),
    { month: '2026-10', service: 'secret', model: 'gpt-4o', person: 1, usd: '0.25', tokens: 1 },
    ...six('2026-11', 'secret', '4'),
  ])

  const { whole, increases, decreases, rest } = await changes('', tenant)

  // In October the one person's group is folded with the cheapest of the others.
  expect(increases).toMatchObject([{ service: 'search', change_usd: '24' }])
  expect(decreases).toEqual([])
  expect(rest).toMatchObject({ change_usd: '29.75', before: { cost_usd: '6.25' }, has_unread_groups: false })
  expect(whole.change_usd).toBe('53.75')
  expect(JSON.stringify({ increases, decreases })).not.toContain('secret')
})

test('a filter that selects too few people in one period is dropped in both', async () => {
  const answer = await changes('filter[service][eq]=secret', 'tnt_small')

  expect(answer.suppressed).toMatchObject({ reason: 'cohort_too_small', applied: [] })
  expect(answer.report.widened_filters).toEqual(['service'])
  expect(answer.whole.change_usd).toBe('53.75')
})

test('a period without calls is less by all that was before, also where that is of too few people for a row', async () => {
  const tenant = 'tnt_gone'
  await insert(tenant, [
    { month: '2026-10', service: 'chat', model: 'gpt-4o', person: 1, usd: '0.5', tokens: 1 },
    { month: '2026-10', service: 'search', model: 'gpt-4o', person: 2, usd: '0.25', tokens: 1 },
  ])

  const { whole, increases, decreases, rest } = await changes('', tenant)

  expect(whole).toMatchObject({ change_usd: '-0.75', before: { cost_usd: '0.75', calls: 2 }, now: { calls: 0 } })
  expect([increases, decreases]).toEqual([[], []])
  expect(rest).toMatchObject({ change_usd: '-0.75' })
  expect((await changes('', 'tnt_nobody')).whole).toMatchObject({ change_usd: '0', change_percent: null })
})

test('any other period can be compared with, but none that overlaps', async () => {
  const october = await ask(
    `/api/v1/reports/changes?${OCTOBER}&compare_from=2026-11-01&compare_to=2026-12-01`,
    'tnt_movers',
  )
  expect(october.whole.change_usd).toBe('-24')
  const usage = await ask(`/v1/reports/usage?${OCTOBER}&compare_from=2026-11-01&compare_to=2026-12-01`, 'tnt_movers')
  expect(usage.report.compared_with).toMatchObject({ from: '2026-11-01T00:00:00.000Z', total_cost_usd: '90' })
  expect(usage.data[0].change.cost_usd).toBe('-24')

  const overlapping = `${NOVEMBER}&compare_from=2026-11-29&compare_to=2026-12-29`
  for (const path of ['/api/v1/reports/changes', '/v1/reports/usage']) {
    const refused = await ask(`${path}?${overlapping}`, 'tnt_movers', 400)
    expect(refused.errors).toEqual([
      { pointer: '/compare_from', detail: 'The periods that are compared must not overlap.' },
    ])
  }
})

test('for any calls: the parts are the difference of two usage reports, and none shows fewer than five people', async () => {
  const call = fc.record({
    month: fc.constantFrom(...MONTHS),
    service: fc.constantFrom('a', 'b', 'c'),
    model: fc.constantFrom('m', 'n'),
    person: fc.integer({ min: 0, max: 8 }),
    usd: fc
      .bigInt({ min: 0n, max: 10n ** 20n })
      .map((steps) => `${steps / 10n ** 18n}.${String(steps % 10n ** 18n).padStart(18, '0')}`),
    tokens: fc.integer({ min: 0, max: 500 }),
    isUnpriced: fc.boolean(),
  })
  const cases = fc.sample(fc.array(call, { minLength: 1, maxLength: 250, size: 'max' }), { numRuns: 12, seed: 11 })
  let shown = 0
  let folded = 0
  for (const [i, all] of cases.entries()) {
    const tenant = `tnt_${i}`
    await insert(tenant, all)
    const [{ whole, increases, decreases, others, rest }, now, before] = await Promise.all([
      changes('group_by=service,served_model&movers=2', tenant),
      ask(`/v1/reports/usage?${NOVEMBER}`, tenant),
      ask(`/v1/reports/usage?${OCTOBER}`, tenant),
    ])

    const difference = usd(now.report.total_cost_usd) - usd(before.report.total_cost_usd)
    const parts = [...increases, ...decreases, others, ...(rest === null ? [] : [rest])]
    expect(usd(whole.change_usd)).toBe(difference)
    expect(sumOf(parts.map((part) => part.change_usd))).toBe(difference)
    expect(sumOf(Object.values(whole.effects))).toBe(difference)
    for (const part of parts) expect(sumOf(Object.values(part.effects))).toBe(usd(part.change_usd))
    for (const side of ['now', 'before'] as const) {
      expect(sumOf(parts.map((part) => part[side].cost_usd))).toBe(usd(whole[side].cost_usd))
      const month = side === 'now' ? '2026-11' : '2026-10'
      const isMover = ({ service, model }: Call) =>
        [...increases, ...decreases].some((each) => each.service === service && each.served_model === model)
      const ofMonth = all.filter((each) => each.month === month)
      for (const { service, served_model } of [...increases, ...decreases]) {
        const people = peopleIn(ofMonth.filter((each) => each.service === service && each.model === served_model))
        expect(people === 0 || people >= 5).toBe(true)
      }
      const left = peopleIn(ofMonth.filter((each) => !isMover(each)))
      expect(left === 0 || left >= 5 || left === peopleIn(ofMonth)).toBe(true)
    }
    shown += increases.length + decreases.length
    folded += rest === null ? 0 : 1
  }
  expect(shown).toBeGreaterThan(5)
  expect(folded).toBeGreaterThan(5)
})

const usd = (text: string): bigint => parseSum<'USD'>(text)
const sumOf = (texts: readonly string[]): bigint => texts.reduce((sum, text) => sum + usd(text), 0n)
const peopleIn = (all: readonly Call[]): number =>
  new Set(all.map(({ person }) => person).filter((each) => each > 0)).size
