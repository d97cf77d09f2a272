import { createHash } from 'node:crypto'
import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { beforeAll, describe, expect, test } from 'vitest'
import { foldLeaves } from '../../../internal/cohorts/fold.js'
import { peopleOf } from '../../../internal/cohorts/people.js'
import type { FailureReason } from '../../../internal/exports/job.js'
import type { WorkerDeps } from '../../../internal/exports/worker.js'
import type { ExportSource } from '../../../internal/store/queries/export-source.js'
import { insertRows } from '../../../internal/store/sink.js'
import type { AttributionRow } from '../../../internal/store/tables/attributions.js'
import { CLOSED } from '../../../internal/store/tables/closed.js'
import { formatQuantity, parseQuantity, sum } from '../../../internal/units/quantity.js'
import { byPeople, type ExportBench, type Exported, launchExports, record } from '../../support/export-jobs.js'
import { exact, type FocusRow, focusFaults, sumOf } from '../../support/focus-rules.js'

/** Jobs made by an exporter, on the real broker and the real store. */

let bench: ExportBench
beforeAll(async () => {
  bench = await launchExports()
})

let tenants = 0
const newTenant = (): string => `tnt_${++tenants}`
const costOf = (rows: readonly AttributionRow[]): string => formatQuantity(sum(rows.map(({ costUsd }) => costUsd)))
const costIn = (rows: readonly FocusRow[]): bigint => sumOf(rows, 'BilledCost')
const at = (day: string): number => Date.parse(`${day}T12:00:00Z`)

describe('what is exported', () => {
  test('eligible records at 0.80 and above; all else is left out, by reason, and both come to everything', async () => {
    const tenant = newTenant()
    const eligible = [...byPeople(tenant, 6), ...byPeople(tenant, 5, { confidence: 8_000, service: 'chat' })]
    const leftOut = [
      record(tenant, { confidence: 7_999 }),
      record(tenant, { degradationState: 'degraded_serving' }),
      record(tenant, { invocation: { requestedModel: 'no-such-model' } }),
      record(tenant, {}, { exportEligibility: 'disputed' }),
      record(tenant, {}, { exportEligibility: 'residency_restricted' }),
      // Whatever a record says of itself, the floor holds.
      record(tenant, {}, { confidence: 7_999, exportEligibility: 'eligible' }),
    ]
    await bench.insert([...eligible, ...leftOut])

    const { rows, manifest } = await bench.exported(tenant)

    expect(costIn(rows)).toBe(exact(costOf(eligible)))
    expect(manifest.exported).toEqual({ count: 11, cost_usd: costOf(eligible) })
    expect(manifest.left_out.map(({ reason, count }) => [reason, count])).toEqual([
      ['advisory', 1],
      ['below_floor', 2],
      ['disputed', 1],
      ['residency_restricted', 1],
      ['unpriced', 1],
    ])
    const costs = [manifest.exported, ...manifest.left_out].map(
      ({ cost_usd }) => parseQuantity<'USD'>(cost_usd) as bigint,
    )
    expect(manifest.everything.count).toBe(17)
    expect(costs.reduce<bigint>((total, cost) => total + cost, 0n)).toBe(parseQuantity(manifest.everything.cost_usd))
    expect(rows.map((row) => row['x_MinimumConfidence'])).toEqual(['0.8', '0.9'])
  })

  test('days from the first to the last, both included, in UTC; rows by month, cut to the period', async () => {
    const tenant = newTenant()
    const times = [
      '2026-09-09T23:59:59.999Z',
      '2026-09-10T00:00:00Z',
      '2026-09-30T23:59:59.999Z',
      '2026-10-01T00:00:00Z',
      '2026-11-05T23:59:59.999Z',
      '2026-11-06T00:00:00Z',
    ]
    await bench.insert(times.flatMap((time) => byPeople(tenant, 5, { invocation: { eventTimeMs: Date.parse(time) } })))

    const { rows, manifest } = await bench.exported(tenant, { period: { from: '2026-09-10', to: '2026-11-05' } })

    const periodOf = (row: FocusRow) => [
      row['ChargePeriodStart']?.slice(0, 10),
      row['ChargePeriodEnd']?.slice(0, 10),
      row['BillingPeriodStart']?.slice(0, 10),
      row['BillingPeriodEnd']?.slice(0, 10),
      row['x_InvocationCount'],
    ]
    expect(rows.map(periodOf)).toEqual([
      ['2026-09-10', '2026-10-01', '2026-09-01', '2026-10-01', '10'],
      ['2026-10-01', '2026-11-01', '2026-10-01', '2026-11-01', '5'],
      ['2026-11-01', '2026-11-06', '2026-11-01', '2026-12-01', '5'],
    ])
    expect(manifest.period).toEqual({ from: '2026-09-10', to: '2026-11-05', is_complete: true })
  })

  test('a period that has not ended says so', async () => {
    const today = new Date().toISOString().slice(0, 10)
    const { manifest } = await bench.exported(newTenant(), { period: { from: today, to: '2027-01-31' } })

    expect(manifest.period.is_complete).toBe(false)
  })

  test('no record at all: a header, a manifest, and no rows', async () => {
    const { header, rows, manifest, job } = await bench.exported(newTenant())

    expect(header).toContain('BilledCost')
    expect(rows).toEqual([])
    expect(job.result?.rows).toBe(0)
    expect(manifest).toMatchObject({
      exported: { count: 0, cost_usd: '0' },
      left_out: [],
      totals: { billed_cost: '0' },
    })
  })

  test('records as of the instant that the job has kept: neither what came later, nor what was closed by then', async () => {
    const tenant = newTenant()
    const before = byPeople(tenant, 5)
    const closed = byPeople(tenant, 5, { service: 'closed' })
    const asOfMs = Date.UTC(2026, 10, 10)
    const later = byPeople(tenant, 5, { service: 'later' }).map((row) => ({ ...row, validFromMs: asOfMs + 1 }))
    const closedLater = byPeople(tenant, 5, { service: 'closed-later' })
    await bench.insert([...before, ...closed, ...later, ...closedLater])
    const closings = [...closed, ...closedLater].map((version, i) => ({
      version,
      closedAtMs: i < closed.length ? asOfMs : asOfMs + 1,
      change: 'override' as const,
      changeId: 'chg',
      actor: 'cli',
    }))
    await insertRows(bench.store.client, CLOSED, closings, tenant)

    const { rows } = await bench.exported(tenant, {}, { newestComplete: async () => asOfMs })

    expect(rows.map((row) => row['Tags']).sort()).toEqual([
      '{"owner":"team-search","service":"closed-later"}',
      '{"owner":"team-search","service":"search"}',
    ])
  })

  test('nothing of another tenant', async () => {
    const [one, other] = [newTenant(), newTenant()]
    await bench.insert([...byPeople(one, 5, { service: 'ours' }), ...byPeople(other, 5, { service: 'theirs' })])

    const { rows } = await bench.exported(one)

    expect(rows.map((row) => [row['BillingAccountId'], row['Tags']])).toEqual([
      [one, '{"owner":"team-search","service":"ours"}'],
    ])
  })
})

describe('groups of few people', () => {
  test('are folded into a row of their month and provider, whose cost stays in the file', async () => {
    const tenant = newTenant()
    const shown = byPeople(tenant, 5, { owner: 'team-large' }, 'a')
    const folded = [
      ...byPeople(tenant, 4, { owner: 'team-small' }, 'b'),
      ...byPeople(tenant, 1, { owner: 'team-one' }, 'c'),
    ]
    const nobodys = [record(tenant, { owner: 'team-jobs' })]
    await bench.insert([...shown, ...folded, ...nobodys])

    const { rows, manifest } = await bench.exported(tenant)

    expect(rows.map((row) => [row['SubAccountId'], row['x_CohortSuppressed'], row['BilledCost']])).toEqual([
      ['team-jobs', 'false', costOf(nobodys)],
      ['team-large', 'false', costOf(shown)],
      ['', 'true', costOf(folded)],
    ])
    const hidden = rows[2]
    expect(hidden).toMatchObject({
      SubAccountName: '',
      SubAccountType: '',
      Tags: '',
      SkuPriceDetails: '',
      SkuId: 'openai',
    })
    expect(JSON.stringify(hidden)).not.toMatch(/team-|search/)
    expect(manifest.cohorts).toEqual({ k: 5, groups_folded: 2, rows_of_folded_groups: 1 })
  })

  test('a lone small group takes another with it, so that no difference tells of it', async () => {
    const tenant = newTenant()
    await bench.insert([
      ...byPeople(tenant, 3, { owner: 'small' }, 'a'),
      ...byPeople(tenant, 9, { owner: 'large' }, 'b'),
      ...byPeople(tenant, 6, { owner: 'next' }, 'c'),
    ])

    const { rows } = await bench.exported(tenant)

    expect(rows.map((row) => [row['SubAccountId'], row['x_InvocationCount']])).toEqual([
      ['large', '9'],
      ['', '9'],
    ])
  })

  test('identities that are no people isolate nobody', async () => {
    const tenant = newTenant()
    const job = byPeople(tenant, 1, { owner: 'batch' }, 'job')
    await bench.insert([...job, ...byPeople(tenant, 5)])
    const workload = Buffer.from(job[0]?.identityHash ?? []).toString('hex')
    const others = Array.from({ length: 100_000 }, (_, i) => i.toString(16).padStart(32, '0'))

    const asPerson = await bench.exported(tenant)
    const asWorkload = await bench.exported(tenant, {}, { workloadsOf: async () => [...others, workload] })

    expect(asPerson.rows.map((row) => row['SubAccountId'])).toEqual([''])
    expect(asWorkload.rows.map((row) => row['SubAccountId'])).toEqual(['batch', 'team-search'])
  })

  test('are the groups that the rule of cohorts hides, whatever the groups', async () => {
    const group = fc.record({
      owner: fc.constantFrom('a', 'b', 'c', 'd', 'e'),
      service: fc.constantFrom('x', 'y'),
      people: fc.uniqueArray(fc.nat(11), { maxLength: 8 }),
      provider: fc.constantFrom('openai', 'anthropic'),
    })
    await fc.assert(
      fc.asyncProperty(
        fc.uniqueArray(group, { selector: (g) => `${g.owner} ${g.service} ${g.provider}`, minLength: 1, maxLength: 8 }),
        async (groups) => {
          const tenant = newTenant()
          await bench.insert(
            groups.flatMap(({ owner, service, people, provider }) => {
              const rows = people.map((person) =>
                record(tenant, {
                  owner,
                  service,
                  invocation: { provider, estimatedCostUsd: '0.01', attributedIdentity: `p${person}` },
                }),
              )
              return rows.length > 0
                ? rows
                : [record(tenant, { owner, service, invocation: { provider, estimatedCostUsd: '0.01' } })]
            }),
          )

          const { rows } = await bench.exported(tenant, { group_by: ['owner', 'service'] })

          const shown = new Set(rows.map((row) => `${row['ServiceProviderName']} ${row['Tags']}`))
          for (const provider of ['openai', 'anthropic']) {
            const ofProvider = groups.filter((g) => g.provider === provider)
            const kept = foldLeaves(
              ofProvider.map(({ owner, service, people }) => ({
                path: [`${owner} ${service}`],
                people: peopleOf(people.map((p) => p + 1)),
              })),
            )
            const isShown = ofProvider.map(({ owner, service }) =>
              shown.has(`${provider} {"owner":"${owner}","service":"${service}"}`),
            )
            // Which of the large groups is the smallest may be another one: how many people above five is not counted.
            expect(isShown.filter(Boolean).length).toBe(kept.filter((labels) => labels === 1).length)
            for (const [i, { people }] of ofProvider.entries()) {
              if (people.length > 0 && people.length < 5) expect(isShown[i]).toBe(false)
            }
          }
        },
      ),
      { numRuns: 25 },
    )
  })
})

describe('how rows are parted', () => {
  const mixed = (tenant: string): AttributionRow[] => [
    ...byPeople(tenant, 7, { owner: 'a', service: 's1' }),
    ...byPeople(tenant, 7, {
      owner: 'a',
      service: 's2',
      invocation: { eventTimeMs: at('2026-10-02'), inputTokens: 1_000, cachedInputTokens: 400 },
    }),
    ...byPeople(tenant, 7, {
      owner: 'b',
      service: 's3',
      invocation: { requestedModel: 'gpt-4o-mini', eventTimeMs: at('2026-10-02') },
    }),
    ...byPeople(tenant, 7, {
      owner: 'b',
      service: 's3',
      invocation: { estimatedCostUsd: '0.000000000000000007', inputTokens: undefined },
    }),
    ...byPeople(tenant, 7, {
      owner: 'b',
      service: 's3',
      invocation: {
        provider: 'anthropic',
        requestedModel: 'claude-sonnet-4-5',
        inputTokens: 900,
        cachedInputTokens: 100,
        cacheWriteTokens: 300,
        cacheWriteTtlSeconds: 3_600,
      },
    }),
  ]
  const tenant = newTenant()
  let all: readonly AttributionRow[] = []
  beforeAll(async () => {
    all = mixed(tenant)
    await bench.insert(all)
  })

  const labels = (rows: readonly FocusRow[], ...columns: string[]) =>
    rows.map((row) => columns.map((name) => row[name]).join(' '))

  test.each([
    [['owner'], '1.4'],
    [['provider'], '1.4'],
    [['day', 'owner'], '1.4'],
    [['meter'], '1.4'],
    [['meter', 'day', 'owner', 'service', 'served_model'], '1.4'],
    [undefined, '1.4'],
    [undefined, '1.2'],
    [['meter'], '1.2'],
  ] as const)(
    'by %j in FOCUS %s every rule holds, and the totals are those of the records',
    async (groupings, version) => {
      const group_by = groupings === undefined ? null : [...groupings]

      const { header, rows, manifest } = await bench.exported(tenant, { group_by, focus_version: version })

      expect(focusFaults(header, rows, version)).toEqual([])
      expect(costIn(rows)).toBe(exact(costOf(all)))
      expect(sumOf(rows, 'x_InvocationCount')).toBe(exact('35'))
      expect(sumOf(rows, 'x_EnergyWattHours')).toBe(all.reduce((total, { energyWh }) => total + energyWh, 0n))
      expect(sumOf(rows, 'x_CarbonDioxideEquivalentGrams')).toBe(
        all.reduce((total, { carbonGco2e }) => total + carbonGco2e, 0n),
      )
      expect(manifest.totals.billed_cost).toBe(costOf(all))
      expect(manifest.file.rows).toBe(rows.length)
    },
  )

  test('a field that is not asked for is not told', async () => {
    const { rows } = await bench.exported(tenant, { group_by: ['owner'] })

    expect(labels(rows, 'ServiceProviderName', 'SubAccountId', 'Tags', 'SkuId', 'SkuPriceDetails')).toEqual([
      'anthropic b {"owner":"b"} anthropic ',
      'openai a {"owner":"a"} openai ',
      'openai b {"owner":"b"} openai ',
    ])
  })

  test('day makes daily charge periods', async () => {
    const { rows } = await bench.exported(tenant, { group_by: ['day'] })

    expect(labels(rows, 'ChargePeriodStart', 'ChargePeriodEnd', 'ServiceProviderName', 'x_InvocationCount')).toEqual([
      '2026-10-02T00:00:00Z 2026-10-03T00:00:00Z openai 14',
      '2026-10-15T00:00:00Z 2026-10-16T00:00:00Z anthropic 7',
      '2026-10-15T00:00:00Z 2026-10-16T00:00:00Z openai 14',
    ])
  })

  test('meter makes a row a kind of tokens, at the price of the book; what has an estimate is passed through', async () => {
    const { rows } = await bench.exported(tenant, { group_by: ['owner', 'meter'] })

    expect(
      labels(
        rows,
        'SkuId',
        'SkuMeter',
        'PricingCategory',
        'ConsumedQuantity',
        'ConsumedUnit',
        'ListUnitPrice',
        'PricingQuantity',
        'PricingUnit',
        'BilledCost',
      ),
    ).toEqual([
      'anthropic/claude-sonnet-4-5/input Input Tokens Standard 3500 Tokens 3 0.0035 1000000 Tokens 0.0105',
      'anthropic/claude-sonnet-4-5/output Output Tokens Standard 1750 Tokens 15 0.00175 1000000 Tokens 0.02625',
      'anthropic/claude-sonnet-4-5/cache-read Cache Read Tokens Standard 700 Tokens 0.3 0.0007 1000000 Tokens 0.00021',
      'anthropic/claude-sonnet-4-5/cache-write-1h Cache Write 1 Hour Tokens Standard 2100 Tokens 6 0.0021 1000000 Tokens 0.0126',
      'openai/gpt-4o/input Input Tokens Standard 11200 Tokens 2.5 0.0112 1000000 Tokens 0.028',
      'openai/gpt-4o/output Output Tokens Standard 3500 Tokens 10 0.0035 1000000 Tokens 0.035',
      'openai/gpt-4o/cache-read Cache Read Tokens Standard 2800 Tokens 1.25 0.0028 1000000 Tokens 0.0035',
      'openai/gpt-4o Attributed Inference Other 7 Requests 1 0.000000000000000049 USD 0.000000000000000049',
      'openai/gpt-4o-mini/input Input Tokens Standard 7000 Tokens 0.15 0.007 1000000 Tokens 0.00105',
      'openai/gpt-4o-mini/output Output Tokens Standard 1750 Tokens 0.6 0.00175 1000000 Tokens 0.00105',
    ])
    // Counts of a call stand in one of its rows.
    expect(labels(rows, 'x_InvocationCount', 'x_InputTokenCount').slice(0, 2)).toEqual(['7 6300', ' '])
  })

  test('only the columns that are asked for, in the order of the standard', async () => {
    const { header } = await bench.exported(tenant, { columns: ['Tags', 'x_InvocationCount', 'BilledCost'] })

    expect(header).toEqual(['BilledCost', 'Tags', 'x_InvocationCount'])
  })

  test('1.2 names the provider as it did, and has no later column', async () => {
    const { header, rows } = await bench.exported(tenant, { focus_version: '1.2', group_by: ['owner'] })

    expect(header).not.toContain('HostProviderName')
    expect(labels(rows, 'ProviderName', 'PublisherName')).toEqual([
      'anthropic anthropic',
      'openai openai',
      'openai openai',
    ])
  })

  test('names of any kind come out as they are', async () => {
    const strange = newTenant()
    const owner = 'a "b", c/d \\ é 💶 =1+1'
    await bench.insert(byPeople(strange, 5, { owner, service: "it's" }))

    const { rows } = await bench.exported(strange)

    expect(rows[0]).toMatchObject({ SubAccountId: owner, InvoiceIssuerName: 'Acme, "Inc."' })
    expect(JSON.parse(rows[0]?.['Tags'] ?? '')).toEqual({ owner, service: "it's" })
  })
})

describe('a job that is disturbed', () => {
  const tenant = newTenant()
  const body = { group_by: ['owner', 'service', 'day', 'meter'] as ('owner' | 'service' | 'day' | 'meter')[] }
  let undisturbed: Exported
  beforeAll(async () => {
    await bench.insert(
      Array.from({ length: 31 }, (_, day) =>
        [5, 6, 2].flatMap((people, i) =>
          byPeople(tenant, people, { owner: `o${i}`, invocation: { eventTimeMs: Date.UTC(2026, 9, 1 + day, 3) } }),
        ),
      ).flat(),
    )
    undisturbed = await bench.exported(tenant, body)
  })

  /** Fails at the n-th call of something, wherever it is. */
  const failingAt = (nth: number): { readonly source: ExportSource; readonly calls: () => number } => {
    let calls = 0
    const source = Object.fromEntries(
      Object.entries(bench.deps.source).map(([name, ask]) => [
        name,
        (...args: never[]) => {
          if (++calls === nth) return Promise.reject(new Error('connect ECONNREFUSED'))
          return (ask as (...args: never[]) => unknown)(...args)
        },
      ]),
    ) as ExportSource
    return { source, calls: () => calls }
  }

  test('wherever the store goes away, another attempt comes to the same file', async () => {
    const counting = failingAt(0)
    await bench.work(await bench.order(tenant, body), { source: counting.source })
    const steps = counting.calls()
    expect(steps).toBeGreaterThan(8)

    for (let nth = 1; nth < steps; nth++) {
      const job = await bench.order(tenant, body)
      const first = await bench.work(job, { source: failingAt(nth).source })
      expect(first).toMatchObject({ kind: 'again' })
      await bench.work(job)
      const { status, result, attempts, is_cleared } = await bench.read(job)
      expect([status, attempts, is_cleared]).toEqual(['succeeded', 2, true])
      const name = (text = '') => text.replaceAll(job.id, undisturbed.job.id)
      expect({ ...result?.file, key: name(result?.file.key), name: name(result?.file.name) }).toEqual(
        undisturbed.job.result?.file,
      )
    }
  })

  test('an exporter that is asked to stop gives the job back, and keeps what it has done', async () => {
    const job = await bench.order(tenant, body)
    const stopping = new AbortController()
    const source = {
      ...bench.deps.source,
      streamRows: async (...args: Parameters<ExportSource['streamRows']>) => {
        stopping.abort()
        return bench.deps.source.streamRows(...args)
      },
    }

    expect(await bench.work(job, { source }, stopping.signal)).toEqual({ kind: 'again', afterMs: 0 })
    const left = await bench.read(job)
    await bench.work(job)

    expect([left.status, left.work?.slices.length]).toEqual(['running', 1])
    expect((await bench.read(job)).result?.file.sha256).toBe(undisturbed.job.result?.file.sha256)
  })

  test('groups or parts that are lost meanwhile are made again', async () => {
    const job = await bench.order(tenant, body)
    await bench.work(job, { source: failingAt(9).source })
    const { work } = await bench.read(job)
    expect(work?.slices.length).toBe(1)
    await bench.deps.source.clearStaged(job.id)
    await bench.deps.blobs.removeUnder(`${tenant}/${job.id}/`)

    await bench.work(job)

    expect((await bench.read(job)).result?.file.sha256).toBe(undisturbed.job.result?.file.sha256)
  })

  test('the manifest has the digest of the file that lies there; nothing else of the job is left', async () => {
    const { job, manifest } = undisturbed
    const file = await bench.bytesOf(job, 'file')

    expect(createHash('sha256').update(file).digest('hex')).toBe(manifest.file.sha256)
    expect(file.length).toBe(manifest.file.bytes)
    expect(readdirSync(join(bench.folder, tenant, job.id)).sort()).toEqual([manifest.file.name, 'manifest.json'].sort())
    const staged = await bench.store.client.query({
      query: 'SELECT count() FROM export_groups WHERE job_id = {job:String}',
      query_params: { job: job.id },
      format: 'JSONCompactEachRow',
    })
    expect(await staged.json()).toEqual([['0']])
  })

  test('a Parquet file is the same, byte for byte, whenever it is made', async () => {
    const files = await Promise.all([1, 2].map(() => bench.exported(tenant, { ...body, file_format: 'parquet' })))

    const [one, other] = files.map(({ manifest }) => manifest.file.sha256)
    expect(one).toBe(other)
  })

  test('two exporters that have the same job make one file, and tell of it once', async () => {
    const job = await bench.order(tenant, body)

    await Promise.all([bench.work(job), bench.work(job)])

    const { status, result } = await bench.read(job)
    expect([status, result?.file.sha256]).toEqual(['succeeded', undisturbed.job.result?.file.sha256])
    const told = bench.events.filter(({ cause }) => cause === job.id)
    expect(new Set(told.map(({ type }) => type))).toEqual(new Set(['export.completed']))
  })
})

describe('a job that fails', () => {
  const failed = async (deps: Partial<WorkerDeps>, tenant = newTenant()) => {
    await bench.insert(byPeople(tenant, 5))
    const job = await bench.order(tenant)
    const settlement = await bench.work(job, deps)
    const { status, failure } = await bench.read(job)
    const told = bench.events.filter(({ cause }) => cause === job.id).map(({ type, data }) => [type, data])
    expect(existsSync(join(bench.folder, tenant, job.id))).toBe(false)
    return { settlement, status, failure, told, id: job.id }
  }

  test.each<readonly [FailureReason, Partial<WorkerDeps>]>([
    ['residency_unknown', { findTenant: () => undefined }],
    [
      'residency_blocked',
      { findTenant: () => ({ name: 'A', residencyRegion: 'eu' }), places: [{ name: 'here', region: 'us' }] },
    ],
    [
      'residency_blocked',
      { findTenant: () => ({ name: 'A', residencyRegion: 'eu' }), places: [{ name: 'here', region: null }] },
    ],
    ['cohorts_unknown', { workloadsOf: () => Promise.reject(new Error('no directory')) }],
  ])('says %s, and leaves nothing', async (reason, deps) => {
    const { settlement, status, failure, told, id } = await failed(deps)

    expect([settlement.kind, status, failure]).toEqual(['done', 'failed', reason])
    expect(told).toEqual([['export.failed', { job_id: id, status: 'failed' }]])
  })

  test('for a reason to be left out that nobody knows: the floor cannot be told', async () => {
    const tenant = newTenant()
    await bench.insert([record(tenant, {}, { exportEligibility: 'some_day' })])

    expect((await failed({}, tenant)).failure).toBe('floor_unknown')
  })

  test('when rows do not come to the sum of their records', async () => {
    const source = {
      ...bench.deps.source,
      sumStaged: async (...args: Parameters<ExportSource['sumStaged']>) => ({
        ...(await bench.deps.source.sumStaged(...args)),
        cost: '0.1',
      }),
    }

    expect((await failed({ source })).failure).toBe('totals_differ')
  })

  test('what is away is waited for, ten times', async () => {
    const tenant = newTenant()
    const source = { ...bench.deps.source, summarizeDays: () => Promise.reject(new Error('connect ECONNREFUSED')) }
    const job = await bench.order(tenant, {}, { attempts: 8 })

    expect(await bench.work(job, { source })).toMatchObject({ kind: 'again' })
    expect((await bench.read(job)).status).toBe('running')
    expect(await bench.work(job, { source })).toMatchObject({ kind: 'done' })
    expect(await bench.read(job)).toMatchObject({ status: 'failed', failure: 'store_unavailable' })
  })

  test('one that has ended is only told of again', async () => {
    const tenant = newTenant()
    const { job } = await bench.exported(tenant)
    const before = bench.events.length

    expect(await bench.work(job)).toEqual({ kind: 'done' })
    expect(bench.events.slice(before).map(({ type, cause }) => [type, cause])).toEqual([['export.completed', job.id]])
    expect(await bench.read(job)).toEqual(job)
  })
})

test('a tenant has no more jobs running than it may', async () => {
  const tenant = newTenant()
  await bench.insert(byPeople(tenant, 5))
  const jobs = await Promise.all([1, 2, 3].map(() => bench.order(tenant)))
  let release: () => void = () => undefined
  const held = new Promise<void>((resolve) => {
    release = resolve
  })
  const source = {
    ...bench.deps.source,
    summarizeDays: async (...args: Parameters<ExportSource['summarizeDays']>) => {
      await held
      return bench.deps.source.summarizeDays(...args)
    },
  }
  const [one, two, three] = jobs
  if (one === undefined || two === undefined || three === undefined) throw new Error('there are three')

  const running = [bench.work(one, { source }), bench.work(two, { source })]
  await expect.poll(async () => (await bench.read(two)).status).toBe('running')
  const turnedAway = await bench.work(three)
  release()
  await Promise.all(running)

  expect(turnedAway.kind).toBe('again')
  expect((await bench.read(three)).status).toBe('queued')
  expect((await bench.work(three)).kind).toBe('done')
})
