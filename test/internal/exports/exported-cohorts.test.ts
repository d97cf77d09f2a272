import fc from 'fast-check'
import { beforeAll, describe, expect, test } from 'vitest'
import { foldLeaves } from '../../../internal/cohorts/fold.js'
import { peopleOf } from '../../../internal/cohorts/people.js'
import { byPeople, costOf, type ExportBench, launchExports, newTenant, record } from '../../support/export-jobs.js'

/** What a file hides, so that nobody is told by it; by an exporter on the real broker and the real store. */

let bench: ExportBench
beforeAll(async () => {
  bench = await launchExports()
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
