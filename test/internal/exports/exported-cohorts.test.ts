import fc from 'fast-check'
import { beforeAll, describe, expect, test } from 'vitest'
import { showJob } from '../../../internal/exports/show-export.js'
import type { ExportFilter } from '../../../internal/store/queries/exports/export-records.js'
import type { AttributionRow } from '../../../internal/store/tables/attributions.js'
import { foldedByRule } from '../../support/cohort-oracle.js'
import { byPeople, costOf, type ExportBench, launchExports, newTenant, record } from '../../support/export-jobs.js'
import { type FocusRow, focusFaults } from '../../support/focus-rules.js'
import { drawn } from '../../support/run/rings.js'

/** The groups that a file hides to protect individuals, by an exporter on a real broker and a real store. */

let bench: ExportBench
beforeAll(async () => {
  bench = await launchExports()
})

describe('export groups of fewer than five people', () => {
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
    expect(manifest.cohorts).toEqual({ k: 5, scope: 'all', groups_folded: 2, rows_of_folded_groups: 1 })
  })

  test('at the root are not folded, and the manifest does not claim it', async () => {
    const tenant = newTenant()
    const calls = byPeople(tenant, 3, { owner: 'small' })
    await bench.insert(calls)

    const { rows, manifest } = await bench.exported(tenant, { group_by: ['provider'] })

    expect(
      rows.map((row) => [row['x_CohortSuppressed'], row['BilledCost'], row['SubAccountId'], row['SkuId']]),
    ).toEqual([['false', costOf(calls), '', 'openai']])
    expect(manifest.cohorts).toEqual({ k: 5, scope: 'all', groups_folded: 0, rows_of_folded_groups: 0 })
  })

  test('are folded with a second group, so that no difference reveals a single small one', async () => {
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

  test('do not include identities that are not people', async () => {
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

  test('are folded exactly as the cohort rule says, for any groups', async () => {
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

          for (const provider of ['openai', 'anthropic']) {
            const expected = foldedByRule(
              groups
                .filter((g) => g.provider === provider)
                .map(({ owner, service, people }) => ({
                  labels: [owner, service],
                  people,
                  cost: Math.max(people.length, 1),
                })),
              5,
            )
            expect(
              rows
                .filter((row) => row['ServiceProviderName'] === provider)
                .map((row) => [row['Tags'], row['x_CohortSuppressed'], Number(row['x_InvocationCount'])])
                .sort(),
            ).toEqual(
              expected
                .map(({ labels: [owner, service], groups: of }) => [
                  owner === undefined ? '' : JSON.stringify({ owner, ...(service !== undefined && { service }) }),
                  String(service === undefined),
                  of.reduce((calls, { cost }) => calls + cost, 0),
                ])
                .sort(),
            )
          }
        },
      ),
      { numRuns: drawn(8) },
    )
  })
})

describe('export groups by meter', () => {
  const told = (rows: readonly FocusRow[]) =>
    rows.map((row) =>
      ['SubAccountId', 'SkuMeter', 'ConsumedQuantity', 'x_InvocationCount', 'x_InputTokenCount', 'x_OutputTokenCount']
        .map((name) => row[name] || '-')
        .join(' '),
    )

  test('that are folded with a small one include their calls', async () => {
    const tenant = newTenant()
    await bench.insert([
      ...byPeople(tenant, 6, { owner: 'team-x' }, 'a'),
      ...byPeople(tenant, 1, { owner: 'ada' }, 'b'),
    ])

    const { rows, manifest } = await bench.exported(tenant, { group_by: ['owner', 'meter'] })

    expect(told(rows)).toEqual(['- Attributed Inference 8750 7 7000 1750'])
    expect(manifest.cohorts).toEqual({ k: 5, scope: 'all', groups_folded: 2, rows_of_folded_groups: 1 })
  })

  test('are passed through with their labels if fewer than five people have tokens of one kind', async () => {
    const tenant = newTenant()
    await bench.insert([
      ...byPeople(tenant, 6, { owner: 'large' }, 'a'),
      ...byPeople(tenant, 7, { owner: 'next' }, 'b'),
      ...byPeople(tenant, 5, { owner: 'cached' }, 'c'),
      ...byPeople(tenant, 2, { owner: 'cached', invocation: { cachedInputTokens: 400 } }, 'd'),
    ])

    const { rows } = await bench.exported(tenant, { group_by: ['owner', 'meter'] })

    expect(told(rows)).toEqual([
      'cached Attributed Inference 8750 7 7000 1750',
      'large Input Tokens 6000 6 6000 1500',
      'large Output Tokens 1500 - - -',
      'next Input Tokens 7000 7 7000 1750',
      'next Output Tokens 1750 - - -',
    ])
    expect(rows.map((row) => row['x_CohortSuppressed'])).toEqual(['true', 'false', 'false', 'false', 'false'])
  })

  test('are small if fewer than five people made the calls, even without tokens', async () => {
    const tenant = newTenant()
    const failed = { inputTokens: 0, outputTokens: 0 }
    await bench.insert([
      ...byPeople(tenant, 6, { owner: 'large' }, 'a'),
      ...byPeople(tenant, 1, { owner: 'ada', invocation: failed }, 'b'),
      ...byPeople(tenant, 7, { owner: 'next', invocation: failed }, 'c'),
    ])

    const { rows } = await bench.exported(tenant, { group_by: ['owner', 'day', 'meter'] })

    expect(told(rows)).toEqual([
      'large Input Tokens 6000 6 6000 1500',
      'large Output Tokens 1500 - - -',
      '- Attributed Inference 0 8 0 0',
    ])
  })

  test('are folded by the cohort rule, and no row of a meter covers one to four people, for any calls', async () => {
    const call = fc.record({
      person: fc.option(fc.nat(7)),
      input: fc.constantFrom(0, 100, 130),
      cached: fc.constantFrom(0, 0, 70),
      output: fc.constantFrom(0, 10, 17),
    })
    const group = fc.record({
      owner: fc.constantFrom('a', 'b', 'c'),
      day: fc.constantFrom('2026-10-05', '2026-10-06'),
      isPriced: fc.boolean(),
      /** A call by each of at least five people, so that the group can be shown. */
      ofAll: fc.option(call),
      calls: fc.array(call, { minLength: 1, maxLength: 8 }),
    })
    type Call = {
      readonly person: number | null
      readonly input: number
      readonly cached: number
      readonly output: number
    }
    const isFew = (people: number): boolean => people >= 1 && people <= 4
    const peopleIn = (calls: readonly Call[]): number =>
      new Set(calls.map(({ person }) => person).filter((person) => person !== null)).size
    const cachedOf = ({ input, cached }: Call): number => Math.min(input, cached)
    const KINDS: Readonly<Record<string, (call: Call) => number>> = {
      'Input Tokens': (call) => call.input - cachedOf(call),
      'Cache Read Tokens': cachedOf,
      'Output Tokens': ({ output }) => output,
    }

    await fc.assert(
      fc.asyncProperty(
        fc.uniqueArray(group, {
          selector: ({ owner, day, isPriced }) => `${owner} ${day} ${isPriced}`,
          minLength: 1,
          maxLength: 8,
        }),
        async (drawn) => {
          const tenant = newTenant()
          const groups = drawn.map(({ owner, day, isPriced, ofAll, calls: some }) => {
            const calls: readonly Call[] =
              ofAll === null ? some : [...some, ...Array.from({ length: 6 }, (_, person) => ({ ...ofAll, person }))]
            const records = calls.map((call) =>
              record(tenant, {
                owner,
                invocation: {
                  eventTimeMs: Date.parse(`${day}T12:00:00Z`),
                  inputTokens: call.input,
                  cachedInputTokens: cachedOf(call),
                  outputTokens: call.output,
                  ...(!isPriced && { estimatedCostUsd: '0.0002' }),
                  ...(call.person !== null && { attributedIdentity: `p${call.person}` }),
                },
              }),
            )
            const kinds = Object.entries(KINDS).map(([meter, tokensOf]) => ({
              meter,
              tokens: calls.reduce((sum, call) => sum + tokensOf(call), 0),
              people: peopleIn(calls.filter((call) => tokensOf(call) > 0)),
            }))
            const isThin = isPriced && peopleIn(calls) >= 5 && kinds.some(({ people }) => isFew(people))
            return { labels: [day, owner, 'gpt-4o', isPriced ? 'price' : ''], isPriced, calls, kinds, isThin, records }
          })
          await bench.insert(groups.flatMap(({ records }): AttributionRow[] => records))

          const { rows } = await bench.exported(tenant, { group_by: ['owner', 'day', 'meter'] })

          const expected = foldedByRule(
            groups.map(({ labels, calls, records }) => ({
              labels,
              people: calls.flatMap(({ person }) => (person === null ? [] : [person])),
              cost: Number(records.reduce((sum, { costUsd }) => sum + costUsd, 0n) / 10n ** 6n),
            })),
            5,
          )
          const sumOf = (calls: readonly Call[], of: (call: Call) => number) =>
            String(calls.reduce((sum, call) => sum + of(call), 0))
          const rowOf = ([day = '', owner = '']: readonly string[], ...rest: readonly string[]) =>
            [day, owner, ...rest].join(' ')
          const lines = expected.flatMap(({ labels, groups: of }) => {
            const own = groups.filter((group) => of.some((each) => each.labels === group.labels))
            const calls = own.flatMap((group) => group.calls)
            const [first] = own
            const counts = [() => 1, ({ input }: Call) => input, ({ output }: Call) => output].map((of) =>
              sumOf(calls, of),
            )
            const isShown = labels.length === 4
            if (!isShown || first === undefined || !first.isPriced || first.isThin) {
              return [rowOf(labels, 'Attributed Inference', String(!isShown || first?.isThin === true), ...counts)]
            }
            // Shown groups have at least five people per kind and are complete: a sum minus its parts is zero.
            const counted = first.kinds.filter(({ tokens }) => tokens > 0)
            const kinds = counted.length === 0 ? [{ meter: 'Input Tokens', tokens: 0 }] : counted
            return kinds.map(({ meter, tokens }, i) =>
              rowOf(labels, `${meter} ${tokens}`, 'false', ...(i === 0 ? counts : ['', '', ''])),
            )
          })
          expect(
            rows
              .map((row) => {
                const isWholeMonth = row['ChargePeriodEnd'] === '2026-11-01T00:00:00Z'
                const meter = row['SkuMeter'] === 'Attributed Inference' ? '' : ` ${row['ConsumedQuantity']}`
                return rowOf(
                  [isWholeMonth ? '' : (row['ChargePeriodStart'] ?? '').slice(0, 10), row['SubAccountId'] ?? ''],
                  `${row['SkuMeter']}${meter}`,
                  ...['x_CohortSuppressed', 'x_InvocationCount', 'x_InputTokenCount', 'x_OutputTokenCount'].map(
                    (name) => row[name] ?? '',
                  ),
                )
              })
              .sort(),
          ).toEqual(lines.sort())
        },
      ),
      { numRuns: drawn(8) },
    )
  })
})

describe('an export with filters', () => {
  const service = (values: readonly string[], operator = 'in') =>
    ({ field: 'service', operator, values: [...values] }) as ExportFilter & { values: string[] }

  test('contains what they select, and exported and left out records are everything that they select', async () => {
    const tenant = newTenant()
    const chat = byPeople(tenant, 5, { service: 'chat' }, 'a')
    const search = byPeople(tenant, 6, { service: 'search' }, 'b')
    const disputed = [record(tenant, { service: 'chat' }, { exportEligibility: 'disputed' })]
    await bench.insert([...chat, ...search, ...disputed, record(tenant, { service: 'batch' })])
    const filters = [service(['CHAT', 'SEA'], 'contains'), service(['search'], 'ne')].map((filter, i) =>
      i === 0 ? { ...filter, values: ['CHA'] } : filter,
    )

    const { rows, manifest } = await bench.exported(tenant, { filters, group_by: ['service'] })

    expect(rows.map((row) => [row['Tags'], row['x_Scope'], row['BilledCost']])).toEqual([
      ['{"service":"chat"}', 'requested', costOf(chat)],
    ])
    expect(manifest).toMatchObject({ filters, widened_filters: [], scope: 'requested' })
    expect(manifest.suppressed).toBeUndefined()
    expect([manifest.exported, manifest.left_out, manifest.everything]).toEqual([
      { count: 5, cost_usd: costOf(chat) },
      [{ reason: 'disputed', count: 1, cost_usd: costOf(disputed) }],
      { count: 6, cost_usd: costOf([...chat, ...disputed]) },
    ])
  })

  test('that select one to four people is that of the parent, and says so in manifest, job and rows', async () => {
    const tenant = newTenant()
    await bench.insert([
      ...byPeople(tenant, 6, { service: 'chat', owner: 'team-chat' }, 'a'),
      ...byPeople(tenant, 3, { service: 'chat', owner: 'team-bots' }, 'b'),
      ...byPeople(tenant, 7, { service: 'search' }, 'c'),
    ])
    const filters = [service(['chat'], 'eq'), { field: 'owner', operator: 'eq', values: ['team-bots'] } as const].map(
      (filter) => ({ ...filter, values: [...filter.values] }),
    )

    const { rows, manifest, job } = await bench.exported(tenant, { filters, group_by: ['service'] })

    expect(rows.map((row) => [row['Tags'], row['x_Scope'], row['x_InvocationCount']])).toEqual([
      ['{"service":"chat"}', 'parent', '9'],
    ])
    const suppressed = { reason: 'cohort_too_small', asked: filters, applied: filters.slice(0, 1) }
    expect(Object.keys(manifest)[0]).toBe('suppressed')
    expect(manifest).toMatchObject({ suppressed, filters, widened_filters: ['owner'], scope: 'parent' })
    expect(showJob(job, Date.now())).toMatchObject({ filters, suppressed })
  })

  test('that leave out one to four people are dropped as those that select as many', async () => {
    const tenant = newTenant()
    await bench.insert([
      ...byPeople(tenant, 6, { service: 'chat' }, 'a'),
      ...byPeople(tenant, 7, { service: 'search' }, 'b'),
      ...byPeople(tenant, 1, { service: 'bots' }, 'c'),
    ])

    const { manifest } = await bench.exported(tenant, { filters: [service(['bots'], 'ne')], group_by: ['service'] })

    expect(manifest).toMatchObject({ scope: 'parent', widened_filters: ['service'], exported: { count: 14 } })
  })

  test('that select nobody, or five people, are applied as they are', async () => {
    const tenant = newTenant()
    await bench.insert([...byPeople(tenant, 5, { service: 'chat' }), record(tenant, { service: 'batch' })])

    const services: unknown[] = []
    for (const name of ['batch', 'chat', 'none']) {
      const { rows, manifest } = await bench.exported(tenant, { filters: [service([name])], group_by: ['service'] })
      services.push([manifest.scope, ...rows.map((row) => row['Tags'])])
    }

    expect(services).toEqual([['requested', '{"service":"batch"}'], ['requested', '{"service":"chat"}'], ['requested']])
  })

  test('names the cost objects of the directory where the tenant lets only people fold', async () => {
    const tenant = newTenant()
    const listed = byPeople(tenant, 2, { owner: 'team-listed' }, 'a')
    const person = byPeople(tenant, 1, { owner: 'ada@example.com' }, 'b')
    const large = byPeople(tenant, 9, { owner: 'team-large' }, 'c')
    const unlisted = byPeople(tenant, 5, { owner: 'team-of-nobody-knows' }, 'd')
    await bench.insert([...listed, ...person, ...large, ...unlisted])
    const settings = {
      name: 'Acme',
      residencyRegion: null,
      minCohort: 5,
      cohortScope: 'people',
      personalTags: [],
    } as const
    const people = {
      findTenant: () => settings,
      costObjectsOf: () => ({ services: ['search'], owners: ['team-listed', 'team-large'] }),
    }
    const only = { field: 'owner', operator: 'eq', values: ['team-listed'] } as ExportFilter & { values: string[] }

    const whole = await bench.exported(tenant, { group_by: ['owner'] }, people)
    const filtered = await bench.exported(tenant, { group_by: ['owner'], filters: [only] }, people)
    const protectedOne = { ...only, values: ['ada@example.com'] }
    const widened = await bench.exported(tenant, { group_by: ['owner'], filters: [protectedOne] }, people)

    expect(whole.rows.map((row) => [row['SubAccountId'], row['x_InvocationCount']]).sort()).toEqual([
      ['', '6'],
      ['team-large', '9'],
      ['team-listed', '2'],
    ])
    expect(whole.manifest.cohorts).toMatchObject({ k: 5, scope: 'people' })
    expect([filtered.manifest.scope, filtered.rows.length]).toEqual(['requested', 1])
    expect(widened.manifest.scope).toBe('parent')
  })

  test('obeys the least number of people that the tenant has set', async () => {
    const tenant = newTenant()
    await bench.insert([
      ...byPeople(tenant, 6, { owner: 'small' }, 'a'),
      ...byPeople(tenant, 8, { owner: 'large' }, 'b'),
      ...byPeople(tenant, 9, { owner: 'larger' }, 'c'),
    ])
    const findTenant = () => ({ name: 'Acme', residencyRegion: null, minCohort: 7, personalTags: [] })

    const { rows, manifest } = await bench.exported(tenant, { group_by: ['owner'] }, { findTenant })

    expect(rows.map((row) => [row['SubAccountId'], row['x_InvocationCount']])).toEqual([
      ['larger', '9'],
      ['', '14'],
    ])
    expect(manifest.cohorts.k).toBe(7)
  })
})

test('an export groups by the dimensions of reports, with a column for each', async () => {
  const tenant = newTenant()
  await bench.insert([
    ...byPeople(tenant, 5, { invocation: { region: 'eu-west-1' } }, 'a'),
    ...byPeople(tenant, 6, {}, 'b'),
  ])
  const dimensions = ['region', 'requested_model', 'ingestion_layer', 'pathway_category', 'output_state'] as const

  const { header, rows, manifest } = await bench.exported(tenant, {
    group_by: [...dimensions, 'stage_origin', 'cost_basis'],
  })

  expect(
    rows.map((row) =>
      ['RegionId', 'RegionName', 'x_StageOrigin', 'x_CostBasis', 'x_InvocationCount'].map((n) => row[n]),
    ),
  ).toEqual([
    ['', '', 'stage_a', 'price_book', '6'],
    ['eu-west-1', 'eu-west-1', 'stage_a', 'price_book', '5'],
  ])
  for (const name of ['x_RequestedModelName', 'x_IngestionLayer', 'x_PathwayCategory', 'x_OutputState']) {
    expect(rows.every((row) => (row[name] ?? '') !== '')).toBe(true)
  }
  expect(header).not.toContain('x_Scope')
  expect(focusFaults(header, rows, '1.4')).toEqual([])
  for (const name of dimensions) expect(manifest.fields_left_out).not.toHaveProperty(name)
})
