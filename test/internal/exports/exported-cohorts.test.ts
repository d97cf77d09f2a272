import fc from 'fast-check'
import { beforeAll, describe, expect, test } from 'vitest'
import { foldLeaves } from '../../../internal/cohorts/fold.js'
import { peopleOf } from '../../../internal/cohorts/people.js'
import type { AttributionRow } from '../../../internal/store/tables/attributions.js'
import { byPeople, costOf, type ExportBench, launchExports, newTenant, record } from '../../support/export-jobs.js'
import type { FocusRow } from '../../support/focus-rules.js'

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
    expect(manifest.cohorts).toEqual({ k: 5, groups_folded: 2, rows_of_folded_groups: 1 })
  })

  test('at the root are not folded, and the manifest does not claim it', async () => {
    const tenant = newTenant()
    const calls = byPeople(tenant, 3, { owner: 'small' })
    await bench.insert(calls)

    const { rows, manifest } = await bench.exported(tenant, { group_by: ['provider'] })

    expect(
      rows.map((row) => [row['x_CohortSuppressed'], row['BilledCost'], row['SubAccountId'], row['SkuId']]),
    ).toEqual([['false', costOf(calls), '', 'openai']])
    expect(manifest.cohorts).toEqual({ k: 5, groups_folded: 0, rows_of_folded_groups: 0 })
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

  test('are exactly those that the cohort rule hides, for any groups', async () => {
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
            // The smallest of the large groups can differ: the number of people above five is not counted.
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
    expect(manifest.cohorts).toEqual({ k: 5, groups_folded: 2, rows_of_folded_groups: 1 })
  })

  test('are small if fewer than five people have tokens of one kind, and are folded with all their kinds', async () => {
    const tenant = newTenant()
    await bench.insert([
      ...byPeople(tenant, 6, { owner: 'large' }, 'a'),
      ...byPeople(tenant, 7, { owner: 'next' }, 'b'),
      ...byPeople(tenant, 5, { owner: 'cached' }, 'c'),
      ...byPeople(tenant, 2, { owner: 'cached', invocation: { cachedInputTokens: 400 } }, 'd'),
    ])

    const { rows } = await bench.exported(tenant, { group_by: ['owner', 'meter'] })

    expect(told(rows)).toEqual([
      'next Input Tokens 7000 7 7000 1750',
      'next Output Tokens 1750 - - -',
      '- Attributed Inference 16250 13 13000 3250',
    ])
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

    expect(told(rows)).toEqual(['next Input Tokens 0 7 0 0', '- Attributed Inference 7500 7 6000 1500'])
  })

  test('are shown and folded so that nothing reveals one to four people, for any calls', async () => {
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
    const labelOf = (owner: string, day: string, isPriced: boolean) => `${owner} ${day} ${isPriced}`

    await fc.assert(
      fc.asyncProperty(
        fc.uniqueArray(group, {
          selector: ({ owner, day, isPriced }) => labelOf(owner, day, isPriced),
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
                  ...(!isPriced && { estimatedCostUsd: '0.01' }),
                  ...(call.person !== null && { attributedIdentity: `p${call.person}` }),
                },
              }),
            )
            const kinds = Object.entries(KINDS).map(([meter, tokensOf]) => ({
              meter,
              tokens: calls.reduce((sum, call) => sum + tokensOf(call), 0),
              people: peopleIn(calls.filter((call) => tokensOf(call) > 0)),
            }))
            const isSmall = isFew(peopleIn(calls)) || (isPriced && kinds.some(({ people }) => isFew(people)))
            return { label: labelOf(owner, day, isPriced), isPriced, calls, kinds, isSmall, records }
          })
          await bench.insert(groups.flatMap(({ records }): AttributionRow[] => records))

          const { rows } = await bench.exported(tenant, { group_by: ['owner', 'day', 'meter'] })

          const shownRows = rows.filter((row) => row['x_CohortSuppressed'] === 'false')
          const rowsOf = (label: string): readonly FocusRow[] =>
            shownRows.filter(
              (row) =>
                labelOf(
                  row['SubAccountId'] ?? '',
                  (row['ChargePeriodStart'] ?? '').slice(0, 10),
                  row['PricingCategory'] === 'Standard',
                ) === label,
            )
          const [shown, hidden] = [true, false].map((is) =>
            groups.filter(({ label }) => rowsOf(label).length > 0 === is),
          ) as [typeof groups, typeof groups]

          // Shown groups have at least five people per kind and are complete: a sum minus its parts is zero.
          for (const { label, isPriced, calls, kinds, isSmall } of shown) {
            expect(isSmall).toBe(false)
            const [first, ...others] = rowsOf(label)
            expect(first?.['x_InvocationCount']).toBe(String(calls.length))
            expect(others.filter((row) => row['x_InvocationCount'] !== '')).toEqual([])
            if (!isPriced) continue
            const counted = kinds.filter(({ tokens }) => tokens > 0)
            expect(
              rowsOf(label)
                .map((row) => `${row['SkuMeter']} ${row['ConsumedQuantity']}`)
                .sort(),
            ).toEqual(
              counted.length === 0
                ? ['Input Tokens 0']
                : counted.map(({ meter, tokens }) => `${meter} ${tokens}`).sort(),
            )
          }

          // Hidden groups form one row: at least two groups with five people, or all groups.
          const hiddenCalls = hidden.flatMap(({ calls }) => calls)
          const sumOf = (of: (call: Call) => number) => String(hiddenCalls.reduce((sum, call) => sum + of(call), 0))
          expect(
            rows
              .filter((row) => row['x_CohortSuppressed'] === 'true')
              .map((row) =>
                ['x_InvocationCount', 'x_InputTokenCount', 'x_OutputTokenCount', 'BilledCost'].map((name) => row[name]),
              ),
          ).toEqual(
            hidden.length === 0
              ? []
              : [
                  [
                    sumOf(() => 1),
                    sumOf(({ input }) => input),
                    sumOf(({ output }) => output),
                    costOf(hidden.flatMap(({ records }) => records)),
                  ],
                ],
          )
          expect(hidden.filter(({ isSmall }) => !isSmall).length).toBeLessThanOrEqual(hidden.length === 0 ? 0 : 1)
          if (hidden.length === 0) return
          if (hidden.length >= 2 && peopleIn(hiddenCalls) >= 5) return
          expect(shown.filter(({ calls }) => peopleIn(calls) > 0)).toEqual([])
          if (hidden.length === 1) expect(shown).toEqual([])
        },
      ),
      { numRuns: 25 },
    )
  })
})
