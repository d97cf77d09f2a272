import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { ClickHouseClient } from '@clickhouse/client'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { decidedRow } from '../../../internal/attribution/changes/decided.js'
import { type Alternative, type Inference, toRow } from '../../../internal/attribution/records/row.js'
import { identityHash } from '../../../internal/ids/identity-hash.js'
import { faultOf } from '../../../internal/local/backup/known-tables.js'
import { WEIGHT_PARTS } from '../../../internal/records/allocation-weights.js'
import { compact } from '../../../internal/store/compaction.js'
import { ERASED_OWNER, eraseIdentity } from '../../../internal/store/erasure.js'
import {
  findAllocationWeights,
  findSpreadWeights,
} from '../../../internal/store/queries/attribution/allocation-weights.js'
import { closedVersionsOf } from '../../../internal/store/queries/records/closed.js'
import { valuesNamed } from '../../../internal/store/queries/stored-values.js'
import { deleteCallsBefore } from '../../../internal/store/retention.js'
import { settle } from '../../../internal/store/settling.js'
import { insertRows } from '../../../internal/store/sink.js'
import { AS_OF_SNAPSHOT, snapshotParams } from '../../../internal/store/snapshot.js'
import { ALLOCATION_WEIGHTS } from '../../../internal/store/tables/allocation-weights.js'
import { ATTRIBUTIONS, type AttributionRow } from '../../../internal/store/tables/attributions.js'
import { type Change, CLOSED } from '../../../internal/store/tables/closed.js'
import { EVENT_LOG } from '../../../internal/store/tables/event-log.js'
import { RECORD_TABLES } from '../../../internal/store/tables/sorted-copies.js'
import { admitted, idOf, NOW_MS } from '../../support/invocations.js'
import { ROW_DEPS } from '../../support/stages.js'
import { launchMigratedStore, type RunningStore, stopStore } from '../../support/store.js'
import { readBooks } from '../../support/usage.js'

const DAY_MS = 86_400_000

let store: RunningStore
beforeAll(async () => {
  store = await launchMigratedStore()
})
afterAll(() => stopStore(store))
// Each step of forgetting looks at every part of a table, also those with rows of other tenants alone.
afterEach(async () => {
  const result = await store.client.query({
    query: `SELECT name FROM system.tables WHERE database = currentDatabase() AND engine LIKE '%MergeTree'
            AND total_rows > 0
              AND name != 'schema_migrations'`,
    format: 'JSONCompactEachRow',
  })
  for (const [name] of await result.json<[string]>()) await store.client.command({ query: `TRUNCATE TABLE ${name}` })
})

let tenant = 0
let tenantId = ''
beforeEach(() => {
  tenantId = `tnt_${++tenant}`
})

let ids = 0
/** At which the rows of the next insert become valid; replaced ones are closed within ten milliseconds. */
let instantMs = NOW_MS
/** A call that somebody owns under their own name, unless the test says otherwise. */
function rowOf(identity: string | undefined, stated: { owner?: string; eventTimeMs?: number; tenantId?: string } = {}) {
  const { owner = identity ?? 'nobody', eventTimeMs = NOW_MS, tenantId: of = tenantId } = stated
  const invocation = { attributedIdentity: identity, estimatedCostUsd: '0.1', eventTimeMs }
  return toRow(
    admitted({ id: idOf(++ids), tenantId: of, invocation }),
    {
      service: 'search',
      owner,
      stageOrigin: 'stage_a',
      evidenceBasis: 'service_resolved',
      confidence: 9_000,
      outputState: 'deterministically_resolved',
      modelVersion: 'rules-1',
      degradationState: 'none',
      evidence: {},
    },
    { partition: 0, validFromMs: instantMs },
    ROW_DEPS,
  )
}

let token = 0
async function insert(
  rows: readonly AttributionRow[],
  closed: readonly AttributionRow[] = [],
  change: Change = 'override',
): Promise<void> {
  await insertRows(store.client, ATTRIBUTIONS, rows, `rows ${++token}`)
  const closing = { closedAtMs: instantMs + 1, change, changeId: 'chg_one', actor: 'cli' } as const
  await insertRows(
    store.client,
    CLOSED,
    closed.map((version) => ({ version, ...closing })),
    `closed ${++token}`,
  )
  instantMs += 10
  await settle(store.client, instantMs, new AbortController().signal)
}

/** A version that was replaced so long ago that it is history alone, and the one in its place. */
async function insertCompacted(replaced: AttributionRow): Promise<void> {
  await insert(
    [replaced, { ...replaced, owner: 'bob', validFromMs: replaced.validFromMs + 1 }],
    [replaced],
    'reattribution',
  )
  await compact(store.client, NOW_MS + DAY_MS, 1)
}

/** One value of one query over a tenant's rows. */
async function value(select: string, table: string, of = tenantId): Promise<string> {
  const result = await store.client.query({
    query: `SELECT toString(${select}) FROM ${table} WHERE tenant_id = {tenant:String}`,
    query_params: { tenant: of },
    format: 'JSONCompactEachRow',
  })
  return (await result.json<[string]>())[0]?.[0] ?? ''
}

/** Where a tenant's texts still hold a word, of all that the read model keeps by tenant. */
async function columnsWith(word: string): Promise<string[]> {
  const result = await store.client.query({
    query: `SELECT table, name FROM system.columns WHERE database = currentDatabase() AND type LIKE '%String%'
              AND name != 'tenant_id' AND table IN (
                SELECT table FROM system.columns WHERE database = currentDatabase() AND name = 'tenant_id')`,
    format: 'JSONCompactEachRow',
  })
  const columnsOf = new Map<string, string[]>()
  for (const [table, name] of await result.json<[string, string]>()) {
    columnsOf.set(table, [...(columnsOf.get(table) ?? []), name])
  }
  const found: string[] = []
  for (const [table, columns] of columnsOf) {
    // One query per table: there are some hundred columns.
    const counts = columns.map((name) => `countIf(position(toString(${name}), '${word}') > 0)`)
    const values = JSON.parse(await value(`[${counts.join()}]`, table)) as number[]
    found.push(...columns.filter((_, at) => values[at] !== 0).map((name) => `${table}.${name}`))
  }
  return found
}

/** Weights as of one instant, in tenths. */
const insertWeights = (tenths: readonly (readonly [service: string, owner: string, weight: bigint])[]): Promise<void> =>
  insertRows(
    store.client,
    ALLOCATION_WEIGHTS,
    tenths.map(([service, owner, weight]) => ({
      tenantId,
      asOfMs: NOW_MS,
      service,
      owner,
      weightSteps: weight * 10n ** 17n,
      isShown: true,
    })),
    `weights ${++token}`,
  )

/** As an explanation shows them, in tenths; a report spreads by the same. */
async function weightsShown(): Promise<(readonly [service: string, owner: string, tenths: number])[]> {
  const { signal } = new AbortController()
  const shown = await findAllocationWeights(store.client, tenantId, NOW_MS, signal)
  const spread = await findSpreadWeights(store.client, tenantId, NOW_MS, signal)
  const tenths = shown.map(({ service, owner, weight }) => [service, owner, Number(weight) * 10] as const).sort()
  expect(
    spread?.weights.map(({ service, owner, parts }) => [service, owner, Number(parts / (WEIGHT_PARTS / 10n))]).sort(),
  ).toEqual(tenths)
  return tenths
}

const inferenceOf = (others: readonly (readonly [service: string, owner: string])[]): string => {
  const alternatives = others.map(([service, owner]): Alternative => ({ service, owner, probability: '0.1000' }))
  return JSON.stringify({ probability: '0.6000', alternatives } satisfies Inference)
}

/** The same store; after each command, the test looks at what it then holds. */
const watched = (look: () => Promise<void>): ClickHouseClient =>
  Object.assign(Object.create(store.client) as ClickHouseClient, {
    async command(asked: Parameters<ClickHouseClient['command']>[0]) {
      const done = await store.client.command(asked)
      await look()
      return done
    },
  })

/** How often a page finds the record that it finds most often, over every order. */
async function timesFound(): Promise<number> {
  const found = RECORD_TABLES.map(async (table) => {
    const result = await store.client.query({
      query: `SELECT count() AS times FROM ${table} WHERE tenant_id = {tenant:String} AND ${AS_OF_SNAPSHOT}
              GROUP BY id ORDER BY times DESC LIMIT 1`,
      query_params: snapshotParams(tenantId, NOW_MS + DAY_MS),
      format: 'JSONCompactEachRow',
    })
    return Number((await result.json<[string]>())[0]?.[0] ?? 0)
  })
  return Math.max(...(await Promise.all(found)))
}

describe('erasure', () => {
  const erase = (name: string, client = store.client) =>
    eraseIdentity(client, {
      tenantId,
      hash: Buffer.from(identityHash(ROW_DEPS.identityKeyOf(tenantId), name)).toString('hex'),
      name,
    })

  test('leaves nothing of a person, and every sum as it was', async () => {
    const ann = [rowOf('ann'), rowOf('ann'), rowOf('ann', { owner: 'team-search' })]
    await insert([...ann, rowOf('bob'), rowOf(undefined)], ann.slice(0, 1))
    const told = ['ann', 'bob'].map((owner, i) => ({
      tenantId,
      type: 'attribution.disputed',
      eventId: owner,
      createdAtMs: Date.now(),
      envelope: JSON.stringify({ data: { owner } }),
      sourceLog: 1,
      sourceSequence: i,
    }))
    await insertRows(store.client, EVENT_LOG, told, tenantId)
    const sums = async () =>
      Promise.all([
        ...RECORD_TABLES.map((table) => value('(count(), sum(cost_usd))', table)),
        value('(sum(calls), sum(cost_usd), sum(input_tokens))', 'usage_15m'),
        value("(sumIf(calls, owner = 'bob'), sumIf(cost_usd, owner = 'team-search'))", 'usage_15m'),
      ])
    const before = await sums()

    await erase('ann')

    expect(await sums()).toEqual(before)
    for (const table of [...RECORD_TABLES, 'closed', 'usage_15m']) {
      expect([table, await value("countIf(owner = 'ann')", table)]).toEqual([table, '0'])
    }
    expect(await value(`sumIf(calls, owner = '${ERASED_OWNER}')`, 'usage_15m')).toBe('1')
    const owners = "arrayStringConcat(arraySort(groupArray(JSONExtractString(envelope, 'data', 'owner'))), ',')"
    expect(await value(owners, 'event_log')).toBe(`bob,${ERASED_OWNER}`)
    // Bob alone is still somebody.
    expect(await value("uniqExactIf(identity_hash, identity_hash != toFixedString('', 16))", 'attributions')).toBe('1')
    expect(await value('length(mapKeys(mapFilter((k, v) -> v > 0, sumMap(people))))', 'usage_15m')).toBe('1')
  })

  test('leaves nothing of a person in the history of a record, either', async () => {
    const replaced = rowOf('ann')
    await insertCompacted(replaced)

    await erase('ann')

    const id = Buffer.from(replaced.id).toString('hex')
    const history = await closedVersionsOf(store.client, tenantId, id, NOW_MS + DAY_MS, new AbortController().signal)
    expect(history.map(({ owner }) => owner)).toEqual([ERASED_OWNER])
    expect(await value("countIf(identity_hash != toFixedString('', 16))", 'closed_history')).toBe('0')
  })

  test('leaves no text of the tenant that names the person', async () => {
    const name = `ann "o'neill" \\ a\tb`
    const stated = { service: 'search', owner: 'bob', reason: 'known', actor: 'usr_one' }
    const replaced = rowOf(name)
    const overridden = decidedRow(replaced, { override: stated, dispute: stated }, instantMs + 1)
    await insert([replaced, overridden, { ...rowOf('bob'), inference: inferenceOf([['search', name]]) }], [replaced])
    await insertCompacted(rowOf(name))
    await insertWeights([['search', name, 10n]])
    await insert([{ ...rowOf('bob'), tags: { author: name, release: '7' }, dimensions: [`author\t${name}`, 'team\t'] }])
    expect(await columnsWith('neill')).toEqual(
      expect.arrayContaining([
        'allocation_weights.owner',
        'attribution_values.value',
        'attributions.dimensions',
        'attributions.tags',
        'attributions_by_owner.dimensions',
        'attributions.evidence',
        'attributions.inference',
        'closed_history.owner',
      ]),
    )

    await erase(name)

    expect(await columnsWith('neill')).toEqual([])
    for (const table of ['attributions', 'attributions_by_owner']) {
      expect(await value('max(dimensions)', table)).toBe(`['author\\t${ERASED_OWNER}','team\\t']`)
    }
    expect(await value('max(tags)', 'attributions')).toBe(`{'author':'${ERASED_OWNER}','release':'7'}`)
    expect(await value("countIf(field = 'tags' AND value = 'author\\terased')", 'attribution_values')).toBe('1')
  })

  test('changes nothing in the evidence and the figures of a record but the owner', async () => {
    const inferred = {
      ...rowOf('bob'),
      inference: inferenceOf([
        ['ann', 'ann'],
        ['search', 'annabel'],
        ['chat', 'ann'],
      ]),
    }
    const override = { service: 'search', owner: 'bob', reason: 'not "owner":"ann"', actor: 'usr_one' }
    const overridden = decidedRow(rowOf('ann'), { override }, instantMs + 1)
    await insert([inferred, overridden])

    await erase('ann')

    expect(await value('max(inference)', 'attributions')).toBe(
      inferenceOf([
        ['ann', ERASED_OWNER],
        ['search', 'annabel'],
        ['chat', ERASED_OWNER],
      ]),
    )
    const before = JSON.parse(overridden.evidence) as { override: object; replaced: object }
    const after = await value("anyIf(evidence, evidence_basis = 'manual_override')", 'attributions')
    expect(JSON.parse(after)).toEqual({ ...before, replaced: { ...before.replaced, owner: ERASED_OWNER } })
  })

  test('lets a search find those who own what was erased, and nobody else by the name', async () => {
    await insert([{ ...rowOf('ann'), service: 'ann' }, rowOf('bob')])
    const values = (field: string) =>
      value(`arraySort(groupUniqArrayIf(value, field = '${field}'))`, 'attribution_values')

    await erase('carol')
    expect(await values('owner')).toBe("['ann','bob']")
    await erase('ann')

    expect(await values('owner')).toBe(`['bob','${ERASED_OWNER}']`)
    expect(await values('service')).toBe("['ann','search']")

    // The client that wrote the name before believes that it is there.
    await insert([rowOf('ann')])
    expect(await values('owner')).toBe(`['ann','bob','${ERASED_OWNER}']`)
  })

  test('may be broken off after any step, while weights sum to 1 throughout', async () => {
    await insert([rowOf('ann'), rowOf('ann'), rowOf('bob')])
    await insertWeights([
      ['search', 'ann', 3n],
      ['search', ERASED_OWNER, 2n],
      ['chat', 'ann', 1n],
      ['chat', 'bob', 4n],
    ])
    const sums = new Set<number>()
    const brokenOff = new Error('broken off')
    const brokenOffAfter = (steps: number) => {
      let left = steps
      return watched(async () => {
        left -= 1
        if (left > 0) return
        // The steps before this one found nothing left to do: what they leave was looked at in earlier runs.
        sums.add((await weightsShown()).reduce((sum, [, , tenths]) => sum + tenths, 0))
        throw brokenOff
      })
    }

    let steps = 0
    let isDone = false
    while (!isDone) {
      isDone = await erase('ann', brokenOffAfter(++steps)).then(
        () => true,
        (cause) => {
          if (cause !== brokenOff) throw cause
          return false
        },
      )
    }

    expect(sums).toEqual(new Set([10]))
    expect(await weightsShown()).toEqual([
      ['chat', 'bob', 4],
      ['chat', ERASED_OWNER, 1],
      ['search', ERASED_OWNER, 5],
    ])
    expect(await columnsWith('ann')).toEqual([])
    expect(await value("(count(), countIf(owner = 'erased'))", 'attributions_by_owner')).toBe('(3,2)')
    const { records, rollups } = await readBooks(store.client)
    expect(rollups).toEqual(records)
  })

  test('keeps rollups equal to the records, and may be repeated', async () => {
    await insert([rowOf('ann'), rowOf('bob')])

    await erase('ann')
    await erase('ann')
    await insert([rowOf('ann')])
    await erase('ann')

    const { records, rollups } = await readBooks(store.client)
    expect(rollups).toEqual(records)
    expect(await value(`(sum(calls), sumIf(calls, owner = '${ERASED_OWNER}'))`, 'usage_15m')).toBe('(3,2)')
    expect(await value('count()', 'attributions_by_owner')).toBe('3')
  })

  test('leaves earlier erasures alone when somebody is named like the erased owner', async () => {
    await insert([rowOf('ann'), rowOf('bob')])
    await insertWeights([['search', 'ann', 10n]])
    await erase('ann')

    await erase(ERASED_OWNER)

    expect(await value('count()', 'attributions_by_owner')).toBe('2')
    expect(await value('sum(calls)', 'usage_15m')).toBe('2')
    expect(await weightsShown()).toEqual([['search', ERASED_OWNER, 10]])
    expect(await value("groupUniqArrayIf(value, field = 'owner' AND value != 'bob')", 'attribution_values')).toBe(
      `['${ERASED_OWNER}']`,
    )
  })

  test('does not touch another tenant who knows somebody of the same name', async () => {
    await insert([rowOf('ann', { tenantId: 'tnt_other' }), rowOf('ann')])

    await erase('ann')

    expect(await value("countIf(owner = 'ann')", 'attributions_by_owner', 'tnt_other')).toBe('1')
    expect(await value("sumIf(calls, owner = 'ann')", 'usage_15m', 'tnt_other')).toBe('1')
  })
})

describe('retention', () => {
  test('deletes calls before a day from records, copies, closed versions and rollups of one tenant', async () => {
    const old = rowOf('ann', { eventTimeMs: NOW_MS - 40 * DAY_MS })
    await insert([old, rowOf('ann'), rowOf('ann', { eventTimeMs: NOW_MS - 40 * DAY_MS, tenantId: 'tnt_keeps' })], [old])
    const midnight = Math.floor(NOW_MS / DAY_MS) * DAY_MS - 30 * DAY_MS

    const first = await deleteCallsBefore(store.client, tenantId, midnight)
    const second = await deleteCallsBefore(store.client, tenantId, midnight)

    expect([first, second]).toEqual([true, false])
    for (const table of RECORD_TABLES) expect([table, await value('count()', table)]).toEqual([table, '1'])
    expect(await value('count()', 'closed')).toBe('0')
    expect(await value('(count(), sum(calls))', 'usage_15m')).toBe('(1,1)')
    expect(await value('count()', 'attributions', 'tnt_keeps')).toBe('1')
  })

  test('forgets values of declared tags that no record has any more, and no other values', async () => {
    const tagged = (eventTimeMs: number, team: string) => ({
      ...rowOf('ann', { eventTimeMs }),
      dimensions: [`team\t${team}`],
    })
    await insert([tagged(NOW_MS - 40 * DAY_MS, 'old'), tagged(NOW_MS - 40 * DAY_MS, 'both'), tagged(NOW_MS, 'both')])

    await deleteCallsBefore(store.client, tenantId, NOW_MS - 30 * DAY_MS)

    const values = await value('arraySort(groupUniqArray((field, value)))', 'attribution_values')
    expect(values).toContain(`('tags','team\\tboth')`)
    expect(values).not.toContain('old')
    expect(values).toContain("('owner','ann')")
  })

  test('deletes the history of calls before a day', async () => {
    await insertCompacted(rowOf('ann', { eventTimeMs: NOW_MS - 40 * DAY_MS }))
    await insertCompacted(rowOf('ann'))

    await deleteCallsBefore(store.client, tenantId, NOW_MS - 30 * DAY_MS)

    expect(await value('count()', 'closed_history')).toBe('1')
  })

  test('shows no record twice to reads between two of its steps', async () => {
    const replaced = rowOf('ann', { eventTimeMs: NOW_MS - 40 * DAY_MS })
    await insert([replaced, { ...replaced, owner: 'bob', validFromMs: replaced.validFromMs + 1 }], [replaced])
    const found = [await timesFound()]

    await deleteCallsBefore(
      watched(async () => void found.push(await timesFound())),
      tenantId,
      NOW_MS - 30 * DAY_MS,
    )

    expect(Math.max(...found)).toBe(1)
    expect(found.at(-1)).toBe(0)
  })
})

test('the name of a person is found among owners and values of tags by a question, without being known', async () => {
  await insertRows(
    store.client,
    ATTRIBUTIONS,
    [rowOf('ada'), rowOf('grace'), { ...rowOf('joan'), tags: { who: 'katherine' } }],
    'named',
  )
  await insertRows(store.client, ATTRIBUTIONS, [rowOf('mary', { tenantId: 'tnt_other' })], 'named elsewhere')
  const find = (name: string) => valuesNamed(store.client, tenantId, (text) => text === name)

  expect(await Promise.all(['grace', 'katherine', 'mary', 'nobody knows'].map(find))).toEqual([
    'grace',
    'katherine',
    undefined,
    undefined,
  ])
})

test('tables, and changes of rows as these are, are among what a restore of a backup takes', () => {
  const data = join(store.dataDir, 'store', 'data')
  const paths = readdirSync(join(data, 'store'), { recursive: true, encoding: 'utf8' })
    .filter((path) => /^[^/]+\/[^/]+\/(?:\w+\.sql|mutation_\d+\.txt)$/.test(path))
    .map((path) => `store/${path}`)
  const faults = paths.map((path) => faultOf(path, () => readFileSync(join(data, path), 'utf8')))

  expect(paths.filter((path) => path.includes('mutation_')).length).toBeGreaterThan(5)
  expect(faults.filter((fault) => fault !== undefined)).toEqual([])
})
