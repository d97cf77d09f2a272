import type { ClickHouseClient } from '@clickhouse/client'
import { beforeAll, describe, expect, test } from 'vitest'
import { byCredentialId } from '../../../internal/filters/credentials.js'
import { readFilteredQuery } from '../../../internal/filters/parse.js'
import { DIMENSION_NAMES, type DimensionName } from '../../../internal/filters/report-dimensions.js'
import { listRecords } from '../../../internal/store/queries/records/list-records.js'
import { settle } from '../../../internal/store/settling.js'
import {
  type Call,
  CREDENTIALS,
  companyCalls,
  costOf,
  isOwnOwner,
  type Model,
  RATES,
  storedRows,
  usdText,
} from '../../support/generated-company.js'
import { TENANT } from '../../support/scope-keys.js'
import { serveReports } from '../../support/serve-reports.js'

/** Questions about a month of 500 people and 40 services: one request each, against what the calls themselves say. */

const NOW_MS = Date.UTC(2026, 10, 2)
const CALLS = companyCalls(6_000, 11)

let client: ClickHouseClient
let url: string
beforeAll(async () => {
  ;({ client, url } = await serveReports(NOW_MS, { credentialNames: () => CREDENTIALS }))
  await client.insert({ table: 'attributions', values: storedRows(CALLS, TENANT), format: 'JSONEachRow' })
})

type Row = Readonly<Record<string, unknown>> & {
  readonly cost_usd: string
  readonly calls: number
  readonly folded: boolean
}
async function ask(query: string, report = 'usage'): Promise<{ data: Row[]; report: Record<string, unknown> }> {
  const answer = await fetch(`${url}/v1/reports/${report}?from=2026-10-01&to=2026-11-01&limit=200&${query}`, {
    headers: { 'x-api-key': 'read:reporting' },
  })
  const json = (await answer.json()) as { data: Row[]; report: Record<string, unknown> }
  expect(answer.status, JSON.stringify(json)).toBe(200)
  return json
}

const sum = (calls: readonly Call[], of: (call: Call) => bigint): bigint =>
  calls.reduce((all, call) => all + of(call), 0n)
const costs = (calls: readonly Call[]): string => usdText(sum(calls, (call) => costOf(call).usd))
function grouped(calls: readonly Call[], by: (call: Call) => string): ReadonlyMap<string, readonly Call[]> {
  const groups = new Map<string, Call[]>()
  for (const call of calls) {
    const group = groups.get(by(call))
    if (group === undefined) groups.set(by(call), [call])
    else group.push(call)
  }
  return groups
}
const expected = (calls: readonly Call[], by: (call: Call) => string) =>
  Object.fromEntries([...grouped(calls, by)].map(([group, own]) => [group, [costs(own), own.length]]))
const told = (rows: readonly Row[], ...labels: readonly string[]) => {
  expect(rows.every(({ folded }) => !folded)).toBe(true)
  return Object.fromEntries(rows.map((row) => [labels.map((label) => row[label]).join(' '), [row.cost_usd, row.calls]]))
}

const OF: Readonly<Partial<Record<DimensionName, (call: Call) => string>>> = {
  service: ({ service }) => service,
  owner: ({ owner }) => owner,
  provider: ({ provider }) => provider,
  served_model: ({ model }) => model,
  outcome: ({ outcome }) => outcome,
  usage_basis: ({ usage }) => usage,
  evidence_basis: ({ evidence }) => evidence,
  service_tier: ({ tier }) => tier,
  region: ({ region }) => region,
  ingestion_layer: ({ layer }) => layer,
  credential: ({ credential }) => CREDENTIALS.get(credential) ?? '',
  operation_id: ({ operation }) => operation,
}

describe('one request answers', () => {
  test.each(Object.entries(OF))('what each %s cost', async (name, of) => {
    const { data, report } = await ask(`group_by=${name}&sort=-cost_usd`)

    expect(told(data, name)).toEqual(expected(CALLS, of))
    expect(report['total_cost_usd']).toBe(costs(CALLS))
  })

  test('which failed and cancelled calls cost what, by model', async () => {
    const { data } = await ask('filter[outcome][in]=error,cancelled&group_by=outcome,served_model')

    const failed = CALLS.filter(({ outcome }) => outcome === 'error' || outcome === 'cancelled')
    expect(told(data, 'outcome', 'served_model')).toEqual(
      expected(failed, ({ outcome, model }) => `${outcome} ${model}`),
    )
  })

  test('which ten workflows cost most', async () => {
    const { data } = await ask('filter[operation_id][ne]=&group_by=operation_id&sort=-cost_usd')

    const workflows = [
      ...grouped(
        CALLS.filter(({ operation }) => operation !== ''),
        ({ operation }) => operation,
      ),
    ]
      .map(([name, own]) => [name, sum(own, (call) => costOf(call).usd)] as const)
      .sort(([, one], [, other]) => (one < other ? 1 : -1))
    expect(data.slice(0, 10).map((row) => [row['operation_id'], row.cost_usd])).toEqual(
      workflows.slice(0, 10).map(([name, usd]) => [name, usdText(usd)]),
    )
  })

  test('what the dearest traces cost', async () => {
    const { data } = await ask('filter[trace_id][ne]=&group_by=trace_id&sort=-cost_usd')

    const traces = [
      ...grouped(
        CALLS.filter(({ trace }) => trace !== ''),
        ({ trace }) => trace,
      ).values(),
    ]
      .map((own) => sum(own, (call) => costOf(call).usd))
      .sort((one, other) => (one < other ? 1 : -1))
    expect(data.map(({ cost_usd }) => cost_usd)).toEqual(traces.slice(0, 200).map(usdText))
  })

  test('what input, output, cached tokens and fees cost apart, by model', async () => {
    const { data } = await ask('include_cost_parts=true&group_by=served_model')

    for (const model of Object.keys(RATES)) {
      const own = CALLS.filter((call) => call.model === model)
      const priced = own.filter(({ stated }) => stated === undefined)
      const part = (name: 'input' | 'cached_input' | 'output' | 'fees') =>
        usdText(sum(priced, (call) => costOf(call).parts[name]))
      expect(data.find((row) => row['served_model'] === model)).toMatchObject({
        cost_usd: costs(own),
        cost_usd_by_part: {
          input: part('input'),
          cached_input: part('cached_input'),
          cache_write: '0',
          output: part('output'),
          fees: part('fees'),
          not_split: costs(own.filter(({ stated }) => stated !== undefined)),
        },
      })
    }
  })

  test('what share of a service goes into output', async () => {
    const { data } = await ask('include_cost_parts=true&filter[service][eq]=service-7')

    const own = CALLS.filter(({ service, stated }) => service === 'service-7' && stated === undefined)
    expect(data[0]).toMatchObject({
      cost_usd_by_part: { output: usdText(sum(own, (call) => costOf(call).parts.output)) },
    })
  })

  test.each(['small', 'large'] as const)(
    'what the month would have cost with model %s, by team',
    async (model: Model) => {
      const { data, report } = await ask(`reprice_as=openai/${model}&group_by=owner`)

      for (const [owner, own] of grouped(CALLS, (call) => call.owner)) {
        const anew = sum(own, (call) => costOf(call, model, '').priced)
        const before = sum(own, (call) => costOf(call).usd)
        expect(data.find((row) => row['owner'] === owner)).toMatchObject({
          repriced: {
            cost_usd: usdText(anew),
            instead_of_usd: usdText(before),
            change_usd: usdText(anew - before),
            calls: own.length,
            calls_left_out: 0,
          },
        })
      }
      const codes = (report['repriced'] as { cannot_know: { code: string }[] }).cannot_know.map(({ code }) => code)
      expect(report['repriced']).toMatchObject({ provider: 'openai', model, source: 'price_book' })
      expect(codes).toEqual(expect.arrayContaining(['tokens_of_the_same_text', 'length_of_answers', 'cache_hits']))
    },
  )

  test('what the batch tier costs per service, and what it leaves', async () => {
    const batch = await ask('filter[service_tier][eq]=batch&group_by=service')
    const others = await ask('filter[service_tier][ne]=batch&group_by=service')

    expect(told(batch.data, 'service')).toEqual(
      expected(
        CALLS.filter(({ tier }) => tier === 'batch'),
        OF.service as (call: Call) => string,
      ),
    )
    expect(told(others.data, 'service')).toEqual(
      expected(
        CALLS.filter(({ tier }) => tier === ''),
        OF.service as (call: Call) => string,
      ),
    )
  })

  test('how much a credential of two keys spent per day', async () => {
    const { data } = await ask('filter[credential][eq]=checkout&interval=day')

    const own = CALLS.filter(({ credential }) => CREDENTIALS.get(credential) === 'checkout')
    expect(told(data, 'from')).toEqual(
      expected(own, ({ at }) => `${new Date(at).toISOString().slice(0, 10)}T00:00:00.000Z`),
    )
  })

  test('how much rests on partial counts, by service', async () => {
    const { data } = await ask('filter[usage_basis][eq]=partial&group_by=service&sort=-cost_usd')

    expect(told(data, 'service')).toEqual(
      expected(
        CALLS.filter(({ usage }) => usage === 'partial'),
        ({ service }) => service,
      ),
    )
  })

  test('of how many calls the directory names no owner', async () => {
    const { data } = await ask('group_by=owner')

    for (const [owner, own] of grouped(CALLS, (call) => call.owner)) {
      const without = own.filter(isOwnOwner)
      expect(data.find((row) => row['owner'] === owner)).toMatchObject({
        unattributed: false,
        unattributed_calls: 0,
        reasons: without.length === 0 ? {} : { no_owner: { calls: without.length, cost_usd: costs(without) } },
      })
    }
  })

  test('which amounts are lower bounds, since calls were counted in part', async () => {
    const { data } = await ask('group_by=usage_basis')

    const partial = ['cost_usd', 'energy_wh', 'carbon_gco2e', 'input_tokens', 'output_tokens']
    expect(Object.fromEntries(data.map((row) => [row['usage_basis'], row['lower_bounds']]))).toEqual({
      partial,
      reported: [],
    })
  })

  test('a day begins in the zone, and a time may have an offset', async () => {
    const ofDay = await ask('time_zone=Asia/Kolkata&interval=day')
    const range = 'from=2026-10-02&to=2026-10-03T00:00:00%2B05:30&time_zone=Asia/Kolkata'
    const answer = await fetch(`${url}/v1/reports/usage?${range}`, { headers: { 'x-api-key': 'read:reporting' } })
    const { data } = (await answer.json()) as { data: Row[] }

    expect(data[0]?.cost_usd).toBe(ofDay.data.find((row) => row['from'] === '2026-10-01T18:30:00.000Z')?.cost_usd)
  })

  test('a model without a price is refused as one', async () => {
    const answer = await fetch(`${url}/v1/reports/usage?reprice_as=openai/no-such-model`, {
      headers: { 'x-api-key': 'read:reporting' },
    })

    expect(answer.status).toBe(400)
    expect(await answer.json()).toMatchObject({ errors: [{ pointer: '/reprice_as' }] })
  })
})

describe('the calls behind a row', () => {
  test.each(DIMENSION_NAMES.filter((name) => name !== 'trace_id'))(
    'are listed by the filter of its %s',
    async (name) => {
      await settle(client, NOW_MS, new AbortController().signal)
      const { data } = await ask(`group_by=${name}&sort=-calls`)

      for (const row of data.slice(0, 3)) {
        const label = String(row[name] ?? '')
        const read = readFilteredQuery(`filter[${name}][eq]=${encodeURIComponent(label)}&sort=-cost_usd&limit=200`, [])
        if (!read.ok) throw new Error(`${name} ${label}: ${read.problem.detail}`)
        const conditions = byCredentialId(read.query.conditions, () => CREDENTIALS)
        const question = { tenantId: TENANT, snapshotMs: NOW_MS, conditions, sort: read.query.sort, after: undefined }
        const copied = { fromMs: 0, beforeMs: NOW_MS }
        const records = await listRecords(
          client,
          { ...question, limit: 10_000 },
          copied,
          undefined,
          new AbortController().signal,
        )

        expect(records, `${name} ${label}`).toHaveLength(row.calls)
      }
    },
  )
})
