import { beforeAll, describe, expect, test } from 'vitest'
import { exportBody, readRequest } from '../../../internal/exports/export-request.js'
import { pairOf } from '../../../internal/records/dimensions.js'
import type { AttributionRow } from '../../../internal/store/tables/attributions.js'
import {
  byPeople,
  costOf,
  DECLARED,
  type ExportBench,
  launchExports,
  newTenant,
  record,
} from '../../support/export-jobs.js'
import { focusFaults } from '../../support/focus-rules.js'

/** Declared tags in chargeback files, by an exporter on a real broker and a real store. */

let bench: ExportBench
beforeAll(async () => {
  bench = await launchExports()
})

/** The same calls with tags; none: from before the declaration. */
const tagged = (rows: readonly AttributionRow[], tags: Readonly<Record<string, string>>): AttributionRow[] =>
  rows.map((row) => ({ ...row, dimensions: Object.entries(tags).map(([key, value]) => pairOf(key, value)) }))

describe('an export by tags', () => {
  test('has them in Tags, next to the owner and the service, and folds groups by them', async () => {
    const tenant = newTenant()
    const shop = tagged(byPeople(tenant, 6, {}, 'a'), { project: 'shop', 'cost "centre"': "4'7", owner: 'ada' })
    const few = [
      ...tagged(byPeople(tenant, 2, {}, 'b'), { project: 'secret', 'cost "centre"': '1', owner: 'ada' }),
      ...tagged(byPeople(tenant, 4, {}, 'c'), { project: 'other', 'cost "centre"': '2', owner: 'bob' }),
    ]
    const without = tagged([record(tenant)], { project: '', 'cost "centre"': '', owner: '' })
    const before = tagged([record(tenant)], {})
    await bench.insert([...shop, ...few, ...without, ...before])

    const { header, rows, manifest } = await bench.exported(tenant, {
      group_by: ['service', 'tags.Project', 'tags.cost "centre"', 'tags.owner'],
    })

    expect(focusFaults(header, rows, '1.4')).toEqual([])
    const told = rows.map((row) => [JSON.parse(row['Tags'] ?? ''), row['x_CohortSuppressed'], row['BilledCost']])
    expect(told).toHaveLength(4)
    const service = { service: 'search' }
    const notDeclared = '(not declared)'
    expect(told).toEqual(
      expect.arrayContaining([
        [{ ...service, project: 'shop', 'cost "centre"': "4'7", 'tags.owner': 'ada' }, 'false', costOf(shop)],
        [service, 'false', costOf(without)],
        [
          { ...service, project: notDeclared, 'cost "centre"': notDeclared, 'tags.owner': notDeclared },
          'false',
          costOf(before),
        ],
        // Together they are six people, whose service is all that they share.
        [service, 'true', costOf(few)],
      ]),
    )
    expect(manifest.group_by).toEqual(['service', 'tags.project', 'tags.cost "centre"', 'tags.owner', 'provider'])
  })

  test('filtered by a tag has the calls with its value, and those of few people are not singled out', async () => {
    const tenant = newTenant()
    const shop = tagged(byPeople(tenant, 6, {}, 'a'), { project: 'shop' })
    const others = tagged(byPeople(tenant, 5, {}, 'c'), { project: 'blog' })
    const few = tagged(byPeople(tenant, 2, {}, 'b'), { project: 'secret' })
    await bench.insert([...shop, ...others, ...few])
    const filtered = (value: string) =>
      bench.exported(tenant, { filters: [{ field: 'tags.project', operator: 'eq', values: [value] }] })

    const ofShop = await filtered('shop')
    const ofFew = await filtered('secret')

    expect(ofShop.manifest.exported.cost_usd).toBe(costOf(shop))
    expect(ofFew.manifest).toMatchObject({
      scope: 'parent',
      exported: { cost_usd: costOf([...shop, ...others, ...few]) },
    })
  })

  test('counts the values of a personal tag as people', async () => {
    const tenant = newTenant()
    const ofTwo = ['ada', 'bob'].flatMap((author) => tagged([record(tenant), record(tenant)], { author }))
    const ofSix = Array.from({ length: 6 }, (_, i) =>
      tagged([record(tenant, { service: 'chat' })], { author: `author-${i}` }),
    ).flat()
    await bench.insert([...ofTwo, ...ofSix])
    const exported = async (personalTags: readonly 'tags.author'[]) => {
      const findTenant = () => ({ name: 'Acme', residencyRegion: null, minCohort: 5, personalTags })
      const { rows } = await bench.exported(tenant, { group_by: ['service'] }, { findTenant })
      return rows.map((row) => [row['x_CohortSuppressed'], row['x_InvocationCount']])
    }

    expect(await exported([])).toEqual([
      ['false', '6'],
      ['false', '4'],
    ])
    expect(await exported(['tags.author'])).toEqual([['true', '10']])
  })
})

test('a request names declared tags in any case, each once', () => {
  const errorsOf = (body: Record<string, unknown>) => {
    const parsed = exportBody.parse({ format: 'focus', period: { from: '2026-10-01', to: '2026-10-31' }, ...body })
    const read = readRequest(parsed, Date.UTC(2026, 10, 21), DECLARED)
    return read.ok ? read.request : read.errors.map(({ pointer }) => pointer)
  }
  const filter = (field: string, operator = 'eq') => ({ filters: [{ field, operator, values: [''] }] })

  expect(errorsOf({ group_by: ['tags.PROJECT'], ...filter('tags.PROJECT') })).toMatchObject({
    group_by: ['tags.project', 'provider'],
    filters: [{ field: 'tags.project' }],
  })
  expect(errorsOf({ group_by: ['owner', 'tags.release'] })).toEqual(['/group_by/1'])
  expect(errorsOf({ group_by: ['tags.project', 'tags.Project'] })).toEqual(['/group_by'])
  expect(errorsOf(filter('tags.release'))).toEqual(['/filters/0/field'])
  expect(errorsOf(filter('tags.project', 'gt'))).toEqual(['/filters/0/operator'])
  expect(errorsOf(filter('service'))).toEqual(['/filters/0/values/0'])
})
