import type { ClickHouseClient, QueryParams } from '@clickhouse/client'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { BY_COLUMNS } from '../../../../../bench/query/by-columns.js'
import { closeRecords, generateRecords, LAST_AT_MS } from '../../../../../bench/query/generate.js'
import { foldCase, foldCaseSql } from '../../../../../internal/filters/contains.js'
import {
  FILTER_FIELDS,
  type FieldName,
  type FilterField,
  fieldOf,
  SORT_FIELDS,
  withTags,
} from '../../../../../internal/filters/filter-fields.js'
import { type Condition, parseFilters, type Sort } from '../../../../../internal/filters/parse.js'
import { formatId } from '../../../../../internal/ids/ids.js'
import type { StoredAttribution } from '../../../../../internal/store/queries/records/attributions.js'
import { listRecords } from '../../../../../internal/store/queries/records/list-records.js'
import type { After } from '../../../../../internal/store/queries/records/reading-plan.js'
import { keyOf } from '../../../../../internal/store/queries/records/record-order.js'
import type { RecordSample, SampledRecord } from '../../../../../internal/store/queries/records/record-sample.js'
import { settle } from '../../../../../internal/store/settling.js'
import { AS_OF_SNAPSHOT, snapshotParams } from '../../../../../internal/store/snapshot.js'
import { INDEXES_OF_GRANULES } from '../../../../../internal/store/tables/record-storage.js'
import { columnOf, RECORD_TABLES } from '../../../../../internal/store/tables/sorted-copies.js'
import { type Database, openDatabase } from '../../../../support/database.js'
import { fieldText, inOrder, meets } from '../../../../support/record-oracle.js'
import { drawn, someOf } from '../../../../support/run/rings.js'

const TENANT = 'tnt_one'
const OTHER = 'tnt_two'
const ROWS = 4_000
const SNAPSHOT_MS = LAST_AT_MS + 60_000
/** Behind the versions that replace others; what is valid from later on is in no copy. */
const SETTLED_MS = LAST_AT_MS + 20_000
/** Of records that are walked, how many: all of them in the outer ring. */
const WALKED = drawn(ROWS)
const NEVER = new AbortController().signal
const LATER_NUMBERS = { tenantId: 'tnt_later', total: 50_000, seed: 3 }

const DECLARED = [{ key: 'team' }, { key: 'feature' }]
/** A tenth is older than the declaration, a fifth of the rest has no team. */
const DIMENSIONS = `if(n % 10 = 0, [], [concat('team\\t', if(n % 5 = 1, '', concat('Team-', toString(n % 7)))),
  concat('feature\\t', ['search', 'chat', '(other values)', 'a,b'][1 + n % 4])])`

let store: Database
let records: readonly StoredAttribution[]

beforeAll(async () => {
  store = await openDatabase()
  for (const tenantId of [TENANT, OTHER]) {
    for (let from = 0; from < ROWS; from += 1_000) {
      await generateRecords(store.client, {
        tenantId,
        from,
        to: from + 1_000,
        total: ROWS,
        seed: tenantId === TENANT ? 1 : 2,
        dimensions: DIMENSIONS,
      })
    }
  }
  await closeRecords(store.client, TENANT, 200, ROWS)
  await generateRecords(store.client, { ...LATER_NUMBERS, from: 49_000, to: 50_000 })
  await settle(store.client, SETTLED_MS, NEVER)
  records = await allAsOf(SNAPSHOT_MS)
})

/** Fields that no member of a listed record is. */
const UNLISTED = ['operation_id', 'ingestion_layer', 'service_tier', 'region', 'credential', 'pool']
  .map((name) => `${columnOf(name)} AS ${name}`)
  .join(', ')

async function allAsOf(snapshotMs: number): Promise<StoredAttribution[]> {
  const result = await store.client.query({
    query: `SELECT ${BY_COLUMNS.select}, ${UNLISTED} FROM attributions WHERE tenant_id = {tenant:String} AND ${AS_OF_SNAPSHOT}`,
    query_params: snapshotParams(TENANT, snapshotMs),
    format: 'JSONEachRow',
  })
  return (await result.json<Record<string, string>>()).map(BY_COLUMNS.rowOf)
}

interface Tagged {
  readonly team: string | undefined
}

interface Walk {
  readonly conditions?: readonly Condition[]
  readonly sort?: Sort
  readonly limit?: number
  readonly snapshotMs?: number
  readonly settledBeforeMs?: number
  /** The copies are not asked for records from before. */
  readonly copiedFromMs?: number
  readonly sample?: RecordSample | undefined
  /** Records after which it goes no further. */
  readonly enough?: number
}

const NEWEST_FIRST: Sort = { field: 'event_time', isDescending: true }

/** Follows the pages to the end, or until there are enough. */
async function walk({
  conditions = [],
  sort = NEWEST_FIRST,
  limit = 200,
  snapshotMs = SNAPSHOT_MS,
  settledBeforeMs = SETTLED_MS,
  copiedFromMs = 0,
  sample,
  enough = Number.POSITIVE_INFINITY,
}: Walk): Promise<string[]> {
  const ids: string[] = []
  let after: After | undefined
  for (;;) {
    const question = { tenantId: TENANT, snapshotMs, conditions, sort, after, limit: limit + 1 }
    const copied = { fromMs: copiedFromMs, beforeMs: settledBeforeMs }
    const rows = await listRecords(store.client, question, copied, sample, NEVER)
    const shown = rows.slice(0, limit)
    ids.push(...shown.map(({ id }) => id))
    const last = shown.at(-1)
    if (rows.length <= limit || last === undefined || ids.length >= enough) return ids
    const [value, idHex] = keyOf(last, sort.field)
    after = { value, idHex }
  }
}

const idsOf = (sort: Sort): string[] => inOrder(records, sort).map(({ id }) => id)

const names = Object.keys(FILTER_FIELDS) as FieldName[]
const filtered: readonly FilterField[] = [...names, 'tags.team', 'tags.feature']

const sampleOf = (rowsOfEach: number | undefined, closedRows = 0): RecordSample | undefined =>
  rowsOfEach === undefined
    ? undefined
    : { rowsOfEach, closedRows, records: records.filter((_, i) => i % 10 === 0).map(sampledRecord) }

const sampledRecord = (record: StoredAttribution): SampledRecord =>
  ({
    ...Object.fromEntries(
      names.map((name) => {
        const text = fieldText(record, name)
        return [name, ['amount', 'confidence', 'instant'].includes(FILTER_FIELDS[name].type.kind) ? Number(text) : text]
      }),
    ),
    dimensions: record.dimensions,
  }) as SampledRecord

/** What a caller would write to ask for the value that a record has. */
function writtenValue(record: StoredAttribution, field: FilterField): string {
  const text = fieldText(record, field)
  const { type } = fieldOf(field)
  if (type.kind === 'instant') return new Date(Number(text)).toISOString()
  return type.kind === 'id' ? formatId(type.prefix, Buffer.from(text, 'hex')) : text
}

/** Filters about values that some record has, or nearly has. */
const filters = (): fc.Arbitrary<readonly Condition[]> => {
  const one = fc
    .record({
      field: fc.constantFrom(...filtered),
      operator: fc.nat(),
      some: fc.array(fc.nat({ max: records.length - 1 }), { minLength: 1, maxLength: 5 }),
      cut: fc.nat({ max: 6 }),
    })
    .map(({ field, operator: choice, some, cut }): [string, string] => {
      const { operators } = fieldOf(field)
      const operator = operators[choice % operators.length] ?? 'eq'
      const values = some
        .map((at) => writtenValue(records[at] as StoredAttribution, field))
        .filter((text) => text !== '')
      const [first = 'x'] = values
      const fragment = first.slice(cut) || first
      const text =
        operator === 'contains'
          ? cut % 2 === 0
            ? fragment
            : fragment.toUpperCase()
          : operator === 'in'
            ? values.join(',') || 'x'
            : first
      return [`filter[${field}][${operator}]`, text]
    })
  return fc.array(one, { maxLength: 3 }).map((parameters) => {
    const read = parseFilters(parameters, withTags(FILTER_FIELDS, DECLARED))
    return read.ok ? read.value : []
  })
}

const sorts = fc.record({ field: fc.constantFrom(...SORT_FIELDS), isDescending: fc.boolean() })

/** Instants between the first and the last at which a record became valid. */
function quantiles(some: readonly StoredAttribution[], count: number): readonly number[] {
  const instants = some.map(({ valid_from_ms }) => Number(valid_from_ms)).sort((one, other) => one - other)
  return Array.from({ length: count }, (_, i) => instants[Math.floor(((i + 0.5) * instants.length) / count)] ?? 0)
}

/** Asks random questions, whose answers are looked up among all records. */
async function holdWhatIsThere(numRuns: number): Promise<void> {
  // None, some, all but the versions that replaced others, and all.
  const settled = fc.constantFrom(0, ...quantiles(records, 4), LAST_AT_MS + 5_000, SETTLED_MS)
  const dropped = fc.constantFrom(0, 0, ...quantiles(records, 3), LAST_AT_MS + 5_000, SETTLED_MS + 1)
  const limits = fc.constantFrom(7, 50, 200)
  // Of as many records as make one or the other order the better one; and none.
  const samples = fc.option(fc.double({ min: 1, max: 1e5, noNaN: true }), { nil: undefined }).map(sampleOf)
  const expected = (conditions: readonly Condition[], sort: Sort): string[] =>
    inOrder(
      records.filter((record) => conditions.every((condition) => meets(record, condition))),
      sort,
    ).map(({ id }) => id)

  await fc.assert(
    fc.asyncProperty(
      filters(),
      sorts,
      limits,
      settled,
      dropped,
      samples,
      async (conditions, sort, limit, settledBeforeMs, copiedFromMs, sample) => {
        fc.pre(conditions.length > 0)
        const all = expected(conditions, sort)
        // More pages of the same question take long and show nothing new.
        fc.pre(all.length <= 12 * limit)

        expect(await walk({ conditions, sort, limit, settledBeforeMs, copiedFromMs, sample })).toEqual(all)
      },
    ),
    { numRuns: drawn(numRuns) },
  )
}

describe('the pages of a question', () => {
  test('hold what a look at every record finds, in order, by whichever table they are read', async () => {
    await holdWhatIsThere(50)
  })

  const ofText = ['owner', 'provider', 'served_model', 'service'] as const
  test.each([...ofText.slice(0, drawn(ofText.length)), 'confidence'] as const)(
    'follow each other where a value of %s ends with a page, within it, or one behind it',
    async (field) => {
      const sample = sampleOf(1e5)
      for (const isDescending of [true, false]) {
        const sort = { field, isDescending }
        const sorted = inOrder(records, sort)
        // Not among the first records: pages of a few take long to walk.
        const end = sorted.findIndex((record, i) => i > 20 && record[field] !== sorted[i + 1]?.[field]) + 1
        expect(end).toBeGreaterThan(20)
        for (const limit of [end, Math.ceil(end / 3), end + 1, end - 1]) {
          // The ends of some values: to walk them all takes minutes.
          const found = await walk({ sort, limit, sample, enough: drawn(6) * end })
          expect(found).toEqual(sorted.slice(0, found.length).map(({ id }) => id))
          expect(found.length).toBeGreaterThanOrEqual(Math.min(drawn(6) * end, ROWS))
        }
      }
    },
  )

  test.each(SORT_FIELDS)('are in the order of %s, both ways', async (field) => {
    for (const isDescending of [true, false]) {
      const sort = { field, isDescending }

      const found = await walk({ sort, limit: 500, enough: WALKED })
      expect(found).toEqual(idsOf(sort).slice(0, found.length))
      expect(found.length).toBeGreaterThanOrEqual(WALKED)
    }
  })

  test('are as of their snapshot: closed versions before it, their successors after it', async () => {
    const before = await allAsOf(LAST_AT_MS + 5_000)
    const walked = await walk({ sort: { field: 'owner', isDescending: false }, snapshotMs: LAST_AT_MS + 5_000 })

    expect(walked).toEqual(inOrder(before, { field: 'owner', isDescending: false }).map(({ id }) => id))
    expect(before).toHaveLength(ROWS)
    expect(records).toHaveLength(ROWS)
    expect(records.filter(({ owner }) => owner === 'team-overridden').length).toBeGreaterThan(50)
    expect(before.some(({ owner }) => owner === 'team-overridden')).toBe(false)
  })
})

describe('a filter', () => {
  const conditionsOf = (...parameters: (readonly [string, string])[]): readonly Condition[] => {
    const read = parseFilters(parameters, withTags(FILTER_FIELDS, DECLARED))
    if (!read.ok) throw new Error(read.fault.detail)
    return read.value
  }

  test('never finds a record of another tenant, not even by its id', async () => {
    const result = await store.client.query({
      query: 'SELECT lower(hex(id)) AS id FROM attributions WHERE tenant_id = {tenant:String} LIMIT 1',
      query_params: { tenant: OTHER },
      format: 'JSONEachRow',
    })
    const [{ id = '' } = {}] = await result.json<{ id: string }>()
    const written = formatId('attr', Buffer.from(id, 'hex'))

    expect(await walk({ conditions: conditionsOf(['filter[id][eq]', written]) })).toEqual([])
  })

  test('holds whatever text it is given, and no text is more than a value', async () => {
    const texts = [
      "'",
      "' OR 1=1 --",
      '\\',
      "\\'",
      '{p0:String}',
      '{tenant:String}',
      '%',
      'a\u{1f600}',
      '1) OR (1=1',
      '`',
    ]
    for (const text of texts) {
      const conditions = conditionsOf(
        ['filter[owner][eq]', text],
        ['filter[service][contains]', text],
        ['filter[owner][in]', text],
      )

      expect(await walk({ conditions })).toEqual([])
      expect(
        await walk({
          conditions: conditionsOf(['filter[owner][ne]', text], ['filter[trace_id][ne]', text]),
          limit: WALKED,
          enough: WALKED,
        }),
      ).toHaveLength(WALKED)
    }
  })

  test('by an operation, of which there is no index, has the time that all records take, by any order', async () => {
    const asked: unknown[] = []
    const client = {
      query: async ({ clickhouse_settings }: QueryParams) => {
        asked.push(clickhouse_settings?.max_execution_time)
        return { json: async () => [] }
      },
    } as unknown as ClickHouseClient
    const conditions = [{ field: 'operation_id', operator: 'eq', values: ['one'] }] as const
    const question = { tenantId: TENANT, snapshotMs: SNAPSHOT_MS, conditions, after: undefined, limit: 10 }

    for (const sort of [NEWEST_FIRST, { field: 'cost_usd', isDescending: true } as const]) {
      await listRecords(client, { ...question, sort }, { fromMs: 0, beforeMs: SETTLED_MS }, undefined, NEVER)
    }

    expect(new Set(asked)).toEqual(new Set([30]))
  })

  test('ignores the case of text that must be contained, and of no other', async () => {
    const { service } = records[0] as StoredAttribution
    const upper = service.toUpperCase()
    const of = async (operator: string) => walk({ conditions: conditionsOf([`filter[service][${operator}]`, upper]) })

    expect((await of('contains')).length).toBeGreaterThan(0)
    expect(await of('eq')).toEqual([])
    expect(await of('in')).toEqual([])
  })

  test('folds the case of any text as the engine does', async () => {
    const random = fc.sample(fc.string({ unit: 'grapheme', maxLength: 40 }), { numRuns: 2_000, seed: 7 })
    const texts = ['ΣΊΣΥΦΟΣ', 'ς', 'Straße', 'İzmir', 'ǅ', 'Åse', ...random]
    const result = await store.client.query({
      query: `SELECT arrayMap(text -> ${foldCaseSql('text')}, {texts:Array(String)})`,
      query_params: { texts },
      format: 'JSONCompactEachRow',
    })
    const [[folded = []] = []] = await result.json<[string[]]>()

    expect(folded).toEqual(texts.map(foldCase))
  })

  test('compares amounts to the last of their digits', async () => {
    const record = inOrder(records, { field: 'cost_usd', isDescending: true })[100] as StoredAttribution
    const above = `${record.cost_usd.includes('.') ? record.cost_usd : `${record.cost_usd}.`}`.padEnd(
      record.cost_usd.indexOf('.') + 18,
      '0',
    )
    const hair = `${above}1`

    const ids = async (operator: string, value: string) =>
      walk({
        conditions: conditionsOf(
          [`filter[cost_usd][${operator}]`, value],
          ['filter[id][eq]', formatId('attr', Buffer.from(record.id, 'hex'))],
        ),
      })

    expect(await ids('eq', record.cost_usd)).toEqual([record.id])
    expect(await ids('eq', hair)).toEqual([])
    expect(await ids('lt', hair)).toEqual([record.id])
    expect(await ids('gte', hair)).toEqual([])
    expect(await ids('lt', '9'.repeat(20))).toEqual([record.id])
  })

  test.each([
    ['gt', '0.79995', (value: number) => value > 7_999.5],
    ['gte', '0.79995', (value: number) => value >= 7_999.5],
    ['lt', '0.80000001', (value: number) => value < 8_000.0001],
    ['lte', '0.95', (value: number) => value <= 9_500],
    ['lt', '99999999999999999999', () => true],
    ['eq', '0.80001', () => false],
    ['ne', '0.80001', () => true],
  ] as const)('confidence[%s]=%s finds as exact arithmetic does', async (operator, text, holds) => {
    const expected = records.filter(({ confidence }) => holds(Number(confidence) * 10_000)).length

    const conditions = conditionsOf([`filter[confidence][${operator}]`, text])

    expect(await walk({ conditions, limit: ROWS })).toHaveLength(expected)
  })

  test('of times beyond what a column can hold finds all or nothing', async () => {
    expect(await walk({ conditions: conditionsOf(['filter[event_time][gt]', '9999-01-01T00:00:00Z']) })).toEqual([])
    const all = conditionsOf(['filter[event_time][gt]', '0101-01-01T00:00:00Z'])
    expect(await walk({ conditions: all, limit: ROWS })).toHaveLength(ROWS)
  })

  test.each([
    ['eq', '', ({ team }: Tagged) => team === ''],
    ['eq', 'Team-3', ({ team }: Tagged) => team === 'Team-3'],
    ['eq', 'team-3', () => false],
    ['ne', 'Team-3', ({ team }: Tagged) => team !== 'Team-3'],
    ['ne', '', ({ team }: Tagged) => team !== ''],
    ['eq', '(not declared)', ({ team }: Tagged) => team === undefined],
    ['ne', '(not declared)', ({ team }: Tagged) => team !== undefined],
    ['in', 'Team-3,,(not declared)', ({ team }: Tagged) => team === 'Team-3' || team === '' || team === undefined],
    ['in', 'Team-3,Team-4', ({ team }: Tagged) => team === 'Team-3' || team === 'Team-4'],
    ['contains', 'AM-3', ({ team }: Tagged) => team === 'Team-3'],
    ['contains', 'search', () => false],
  ] as const)('tags.team[%s]=%s finds what the pairs of the records say', async (operator, text, holds) => {
    const expected = records.filter(({ dimensions }) => holds({ team: dimensions[0]?.split('\t')[1] }))

    const found = await walk({ conditions: conditionsOf([`filter[tags.TEAM][${operator}]`, text]), limit: ROWS })

    expect(found.sort()).toEqual(expected.map(({ id }) => id).sort())
    expect(expected.length > 0).toBe(text !== 'team-3' && text !== 'search')
  })

  test('may have a list of 200 values', async () => {
    const some = records.slice(0, 200)
    const found = async (field: 'id' | 'cost_usd' | 'trace_id' | 'event_time') => {
      const values = some.map((record) => writtenValue(record, field)).filter((text) => text !== '')
      const conditions = conditionsOf([`filter[${field}][in]`, values.join(',')])
      const expected = records.filter((record) => conditions.every((condition) => meets(record, condition)))
      expect((await walk({ conditions })).sort()).toEqual(expected.map(({ id }) => id).sort())
    }

    await found('id')
    await found('cost_usd')
    await found('trace_id')
    await found('event_time')
  })
})

describe('what came in since the snapshot', () => {
  const LATER_SETTLED_MS = LAST_AT_MS + 24 * 60 * 60 * 1_000 * 90
  beforeAll(async () => {
    await store.client.command({ query: 'SYSTEM STOP MERGES' })
    await generateRecords(store.client, {
      ...LATER_NUMBERS,
      from: 50_000,
      to: 50_000 + drawn(40_000),
      laterMs: 120_000,
    })
    await settle(store.client, LATER_SETTLED_MS, NEVER)
  })
  afterAll(() => store.client.command({ query: 'SYSTEM START MERGES' }))

  test.each(
    SORT_FIELDS.flatMap((field) =>
      [SETTLED_MS, LATER_SETTLED_MS].map((settledBeforeMs) => ({ field, settledBeforeMs })),
    ),
  )('is not read for a page, by $field, settled or not', async ({ field, settledBeforeMs }) => {
    // A sample by which the page is found in the order of the sort, soon; and none.
    for (const sample of [sampleOf(1e5), undefined]) {
      let rowsRead = 0
      const counting = {
        query: async (params: Parameters<typeof store.client.query>[0]) => {
          const clickhouse_settings = { ...params.clickhouse_settings, wait_end_of_query: 1 as const }
          const result = await store.client.query({ ...params, clickhouse_settings })
          rowsRead += Number(JSON.parse(String(result.response_headers['x-clickhouse-summary'])).read_rows)
          return result
        },
      } as typeof store.client
      const conditions = [{ field: 'stage_origin', operator: 'eq', values: ['stage_a'] }] as const
      const sort = { field, isDescending: true }
      const question = {
        tenantId: LATER_NUMBERS.tenantId,
        snapshotMs: SNAPSHOT_MS,
        conditions,
        sort,
        after: undefined,
        limit: 51,
      }

      expect(
        await listRecords(counting, question, { fromMs: 0, beforeMs: settledBeforeMs }, sample, NEVER),
      ).toHaveLength(51)
      expect(rowsRead).toBeGreaterThan(50)
      // A part that came in later would be read for thousands of rows more.
      expect(rowsRead).toBeLessThan(5_000)
    }
  })

  test('is left out by the parts it is in, and granules’ indexes are ignored by all of their names', async () => {
    const result = await store.client.query({
      query:
        'SELECT DISTINCT name FROM system.data_skipping_indices ' +
        'WHERE database = currentDatabase() AND table IN {tables:Array(String)}',
      query_params: { tables: [...RECORD_TABLES] },
      format: 'JSONCompactEachRow',
    })
    const names = (await result.json<[string]>()).map(([name]) => name)

    expect(names.length).toBeGreaterThan(10)
    expect(names.filter((name) => !INDEXES_OF_GRANULES.some(([, known]) => known === `\`${name}\``))).toEqual([])
  })
})

/** Last: it closes versions for all that follows. */
describe('the pages of a tenant that has closed more versions than are held in memory', () => {
  beforeAll(async () => {
    // As a job that attributes a provider's calls anew: each is closed, and a version of the same keys stands beside.
    const at = new Date(LAST_AT_MS + 30_000).toISOString().replace('Z', '')
    const run = (query: string) =>
      store.client.command({ query, query_params: { ...snapshotParams(TENANT, LAST_AT_MS + 20_000), at } })
    const chosen = `(SELECT * FROM attributions
                     WHERE tenant_id = {tenant:String} AND provider = 'provider-0' AND ${AS_OF_SNAPSHOT})`
    await run(`INSERT INTO attributions SELECT * REPLACE (
                 {at:DateTime64(3, 'UTC')} AS valid_from, 'provider-7' AS provider,
                 'trained_inference' AS evidence_basis)
               FROM ${chosen}`)
    await run(`INSERT INTO closed (tenant_id, id, valid_from, event_time, closed_at, change)
               SELECT tenant_id, id, valid_from, event_time, {at:DateTime64(3, 'UTC')}, 'reattribution' FROM ${chosen}`)
    // Of records that no page shows.
    await run(`INSERT INTO closed (tenant_id, id, valid_from, closed_at, change)
               SELECT {tenant:String}, sipHash128(number, 77), {at:DateTime64(3, 'UTC')}, {at:DateTime64(3, 'UTC')},
                 'reattribution'
               FROM numbers(120000)`)
    records = await allAsOf(SNAPSHOT_MS)
  })

  test('hold what a look at every record finds, in order', async () => {
    expect(records).toHaveLength(ROWS)
    await holdWhatIsThere(15)
  })

  test.each(someOf(['provider', 'event_time', 'owner'] as const))('have each record once, by %s', async (field) => {
    // Pages that end among what was closed, and a few long ones.
    for (const limit of [200, 1_000]) {
      const sort = { field, isDescending: limit === 200 }
      // A sample knows of them, or is of before.
      const sample = sampleOf(10, limit === 200 ? 120_000 : 0)
      const found = await walk({ sort, limit, sample, enough: WALKED })
      expect(found).toEqual(idsOf(sort).slice(0, found.length))
      expect(found.length).toBeGreaterThanOrEqual(WALKED)
    }
  })

  test('are found behind as many closed versions as there are', async () => {
    const conditions = [{ field: 'provider', operator: 'eq', values: ['provider-0'] }] as const

    expect(await walk({ conditions, limit: 2 })).toEqual([])
    expect((await walk({ conditions, snapshotMs: LAST_AT_MS + 20_000 })).length).toBeGreaterThan(1_000)
  })
})
