import type { ClickHouseClient } from '@clickhouse/client'
import { hasRows } from './stored-rows.js'
import { VALUES_OF_TAGS } from './tables/attribution-values.js'
import { EVENT_LOG } from './tables/event-log.js'
import { RECORD_TABLES } from './tables/sorted-copies.js'
import { USAGE_DIMENSIONS, USAGE_MEASURES } from './tables/usage.js'

/** Owner of the calls that erased people owned under their own name. */
export const ERASED_OWNER = 'erased'

/** An identity to erase from the read model. */
export interface ErasedIdentity {
  readonly tenantId: string
  /** Hash of the identity, 32 hex digits. */
  readonly hash: string
  /** As stated in events; it is also the owner of calls for which the directory knew no other. */
  readonly name: string
}

/**
 * Erases an identity from the read model without changing any sum. Afterwards records and rollups show its calls like
 * calls that state no identity; calls that it owned under its own name belong to `ERASED_OWNER`, and a tag with its
 * name as the value has that value instead, whether or not its key is declared.
 *
 * Safe to repeat, also after an interruption: each step handles only the rows that remain. Rows inserted meanwhile are
 * left to the next run.
 */
export async function eraseIdentity(store: ClickHouseClient, identity: ErasedIdentity): Promise<void> {
  const { tenantId, hash, name } = identity
  const query_params = {
    tenant: tenantId,
    hash,
    name,
    erased: ERASED_OWNER,
    name_in_json: ownerInJson(name),
    erased_in_json: ownerInJson(ERASED_OWNER),
  }
  const run = (query: string) => store.command({ query, query_params, clickhouse_settings: SETTINGS })

  for (const table of ['attributions', ...CLOSED_TABLES]) {
    await run(`ALTER TABLE ${table} UPDATE identity_hash = toFixedString('', 16)
               WHERE tenant_id = {tenant:String} AND identity_hash = ${HASH}`)
  }
  await run(`ALTER TABLE usage_15m UPDATE people = mapFilter((hash, calls) -> hash != ${HASH}, people)
             WHERE tenant_id = {tenant:String} AND has(mapKeys(people), ${HASH})`)

  // Staged report answers may name it; a caller who pages through one has to ask again.
  await run(`DELETE FROM report_rows WHERE tenant_id = {tenant:String}`)

  // An identity with this very name: its rows need not move, and must not be deleted.
  if (name === ERASED_OWNER) return

  // Before any record changes its owner: the next run may find no record of the name any more.
  await run(`INSERT INTO attribution_values (tenant_id, field, value) SELECT tenant_id, 'owner', {erased:String}
             FROM attributions WHERE tenant_id = {tenant:String} AND owner IN ({name:String}, {erased:String}) LIMIT 1
             UNION ALL SELECT tenant_id, field, ${erasedPair('value')} FROM attribution_values
             WHERE tenant_id = {tenant:String} AND field = '${VALUES_OF_TAGS}' AND ${namesPerson('value')}`)
  for (const table of [...RECORD_TABLES, ...CLOSED_TABLES]) {
    const updates = [
      ...(table === BY_OWNER ? [] : [`UPDATE owner = {erased:String} WHERE ${OWNED}`]),
      ...(RECORD_TABLES.includes(table) ? [ERASE_DIMENSIONS] : []),
      ...(table === 'attributions' ? [ERASE_TAGS] : []),
    ]
    await run(`ALTER TABLE ${table} ${updates.join(', ')}`)
  }
  // Overrides keep the owner that they replaced, and inferences the alternative owners.
  for (const column of ['evidence', 'inference']) {
    await run(`ALTER TABLE attributions
               UPDATE ${column} = replaceAll(${column}, {name_in_json:String}, {erased_in_json:String})
               WHERE tenant_id = {tenant:String} AND position(${column}, {name_in_json:String}) > 0`)
  }

  if (await hasRows(store, `SELECT 1 FROM ${EVENT_LOG.name} WHERE ${NAMED} LIMIT 1`, query_params)) {
    await run(`ALTER TABLE ${EVENT_LOG.name}
               UPDATE envelope = replaceAll(envelope, {name_in_json:String}, {erased_in_json:String}) WHERE ${NAMED}`)
  }

  // In these three tables the owner is part of the sort key, which cannot be updated in place.
  const erased = `(SELECT id, valid_from FROM ${BY_OWNER} WHERE tenant_id = {tenant:String}
                  AND owner = {erased:String})`
  // REPLACE in the outer query: the condition must see the old owner.
  await run(`INSERT INTO ${BY_OWNER} SELECT * REPLACE ({erased:String} AS owner)
             FROM (SELECT * FROM ${BY_OWNER} WHERE ${OWNED} AND (id, valid_from) NOT IN ${erased})`)
  await run(`DELETE FROM ${BY_OWNER} WHERE ${OWNED} AND (id, valid_from) IN ${erased}`)
  await moveUsage(run)
  await moveWeights(run)
  await run(`DELETE FROM attribution_values
             WHERE tenant_id = {tenant:String} AND (field = 'owner' AND value = {name:String}
               OR field = '${VALUES_OF_TAGS}' AND ${namesPerson('value')})`)
}

/** Of a pair of a declared tag: whether its value is the name; the pair without it. */
const namesPerson = (pair: string): string => `substring(${pair}, position(${pair}, '\\t') + 1) = {name:String}`
const erasedPair = (pair: string): string => `concat(substring(${pair}, 1, position(${pair}, '\\t')), {erased:String})`

const ERASE_DIMENSIONS = `UPDATE dimensions = arrayMap(pair -> if(${namesPerson('pair')}, ${erasedPair('pair')},
                          toString(pair)), dimensions)
  WHERE tenant_id = {tenant:String} AND arrayExists(pair -> ${namesPerson('pair')}, dimensions)`
const ERASE_TAGS = `UPDATE tags = mapApply((key, tag) -> (key, if(tag = {name:String}, {erased:String}, tag)), tags)
  WHERE tenant_id = {tenant:String} AND has(mapValues(tags), {name:String})`

/** Matches a JSON member only: within a text, quotes are escaped. */
const ownerInJson = (name: string): string => `"owner":${JSON.stringify(name)}`

/** In the order in which compaction moves entries. */
const CLOSED_TABLES = ['closed', 'closed_history']
const BY_OWNER = 'attributions_by_owner'
/** Events that name it as an owner. */
const NAMED = 'tenant_id = {tenant:String} AND position(envelope, {name_in_json:String}) > 0'
const OWNED = 'tenant_id = {tenant:String} AND owner = {name:String}'
const HASH = 'CAST(unhex({hash:String}) AS FixedString(16))'
const SETTINGS = {
  max_execution_time: 3_600,
  mutations_sync: '2',
  lightweight_deletes_sync: '2',
  // One block, hence one atomic part.
  max_threads: 1,
  max_insert_threads: '1',
  min_insert_block_size_rows: '10000000',
  min_insert_block_size_bytes: '1000000000',
  // A later erasure may move rows equal to those of an earlier one.
  deduplicate_insert_select: 'disable',
  mutations_execute_subqueries_on_initiator: 1,
  mutations_max_literal_size_to_replace: '100000000',
} as const

/**
 * Subtracts the usage of the name and adds it to `ERASED_OWNER` in one insert, so that the sum of both is never wrong;
 * then deletes groups that sum to zero.
 */
async function moveUsage(run: (query: string) => Promise<unknown>): Promise<void> {
  const key = ['tenant_id', 'bucket', ...USAGE_DIMENSIONS].join(', ')
  const sums = USAGE_MEASURES.map((measure) => `sum(${measure}) AS ${measure}`).join(', ')
  const isAny = USAGE_MEASURES.map((measure) => `${measure} != 0`).join(' OR ')
  const columns = (owner: string, sign: string) =>
    [
      'tenant_id',
      'bucket',
      ...USAGE_DIMENSIONS.map((name) => (name === 'owner' ? owner : name)),
      ...USAGE_MEASURES.map((measure) => `${sign}${measure}`),
      sign === '' ? 'people' : 'mapApply((hash, calls) -> (hash, -calls), people)',
    ].join(', ')
  const owned = `SELECT ${key}, ${sums}, sumMap(people) AS people FROM usage_15m WHERE ${OWNED} GROUP BY ${key}
                 HAVING ${isAny}`
  await run(`INSERT INTO usage_15m (${key}, ${USAGE_MEASURES.join(', ')}, people)
             WITH owned AS (${owned})
             SELECT ${columns('{erased:String}', '')} FROM owned UNION ALL SELECT ${columns('owner', '-')} FROM owned`)
  // One lookup for all parts of the table: a later part must not be compared with what an earlier one has already lost.
  await run(`DELETE FROM usage_15m WHERE ${OWNED}
             AND NOT has((SELECT groupArray(tuple(${key})) FROM (${owned})), tuple(${key}))`)
}

/**
 * What the name weighs is given to the other and taken from the name in one insert. Readers leave out each name that
 * weight was taken from (`store/queries/attribution/allocation-weights.ts`), so that the weights of an instant sum to 1
 * at any time, provided that the taken weight is deleted last.
 */
async function moveWeights(run: (query: string) => Promise<unknown>): Promise<void> {
  const key = 'tenant_id, as_of, service, is_shown'
  await run(`INSERT INTO allocation_weights (${key}, owner, weight)
             SELECT ${key}, moved.1, moved.2
             FROM (SELECT ${key}, sum(weight) AS weighed FROM allocation_weights WHERE ${OWNED} GROUP BY ${key}
               HAVING min(weight) > 0)
             ARRAY JOIN [({erased:String}, weighed), ({name:String}, -weighed)] AS moved`)
  await run(`DELETE FROM allocation_weights WHERE ${OWNED} AND weight > 0
             AND (as_of, service) IN (SELECT as_of, service FROM allocation_weights WHERE ${OWNED} AND weight < 0)`)
  await run(`DELETE FROM allocation_weights WHERE ${OWNED} AND weight < 0`)
}
