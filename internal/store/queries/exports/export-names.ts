import { IN_PERIOD } from '../../snapshot.js'
import { ATTRIBUTIONS } from '../../tables/attributions.js'
import { IS_EXPORTED } from './export-records.js'

/**
 * Dimensions of an export that records store as text: their columns of the same name, and those of staged groups. A declared
 * tag would be one more, with its own expression over a record in `numberOf` and `namesWithNumbers`, a column in both staging
 * tables, and a member of `Tags` in `focus-rows.ts`.
 */
export const NAMED = [
  'provider',
  'owner',
  'service',
  'served_model',
  'requested_model',
  'region',
  'ingestion_layer',
  'pathway_category',
  'output_state',
  'stage_origin',
  'cost_basis',
] as const
export type Named = (typeof NAMED)[number]

/**
 * Names are grouped by numbers, two per group key: building and hashing a key of four strings for each record takes as long
 * as everything else in the query. A number is computed once per distinct name in a block, because the columns are
 * LowCardinality.
 *
 * Two 64-bit numbers are combined into one by XOR; the first number gives back the second. On a collision, of names or of
 * combined numbers, groups are dropped or duplicated but never merged: the totals of the file then differ from those of the
 * records, and the export fails. The probability is below one in 10 million for a million groups, and nobody can provoke
 * it, because the hash is keyed with `seed`.
 */
const numberOf = (name: Named): string => `sipHash64Keyed(({seed:UInt64}, toUInt64(${NAMED.indexOf(name)})), ${name})`

/** SQL fragments that group records by some of their names. The query needs the parameter `seed` and those of a selection. */
export interface NumberedGroups {
  /** For the query over records: the `GROUP BY` keys, and the expressions to select in addition to the sums. */
  readonly keys: readonly string[]
  readonly selected: readonly string[]
  /** For the query over the groups (alias `numbered`): joins that look up the names, as `<name>.text`. */
  readonly joins: string
  /** For the same query: keeps only groups of exported records. */
  readonly condition: string
}

/**
 * All records of the selection must be grouped, not only the exported ones: the others form a group of their own, which is
 * dropped. Filtering single records out of each block would cost more than summing them up.
 *
 * @param wanted must not be empty
 */
export function numberedGroups(wanted: readonly Named[]): NumberedGroups {
  const pairs = NAMED.flatMap((_, index) => (index % 2 === 0 ? [NAMED.slice(index, index + 2)] : []))
    .map((pair) => pair.filter((name) => wanted.includes(name)))
    .filter((pair) => pair.length > 0)
  const keys: string[] = []
  const selected = [`any(${IS_EXPORTED}) AS n_exported`]
  const conditions = ['n_exported']
  const joins: string[] = []
  const join = (name: Named, number: string): void => {
    joins.push(`INNER JOIN (${namesWithNumbers(name)}) AS ${name} ON ${name}.number = ${number}`)
  }
  for (const [index, [first, second]] of pairs.entries()) {
    if (first === undefined) continue
    const key = `n_key_${index}`
    keys.push(key)
    if (second === undefined) {
      selected.push(`if(${IS_EXPORTED}, ${numberOf(first)}, 0) AS ${key}`)
      join(first, key)
      continue
    }
    selected.push(`if(${IS_EXPORTED}, bitXor(${numberOf(first)}, ${numberOf(second)}), 0) AS ${key}`)
    selected.push(`min(${numberOf(first)}) AS n_${first}`, `max(${numberOf(first)}) AS n_${first}_max`)
    conditions.push(`n_${first} = n_${first}_max`)
    join(first, `n_${first}`)
    join(second, `bitXor(${key}, n_${first})`)
  }
  return { keys, selected, joins: joins.join('\n'), condition: conditions.join(' AND ') }
}

/** All names of the tenant's records in the period, and possibly a few more: `indexHint` avoids reading the time column. */
const namesWithNumbers = (name: Named): string => `
  SELECT ${name} AS text, ${numberOf(name)} AS number FROM ${ATTRIBUTIONS.name}
  WHERE tenant_id = {tenant:String} AND indexHint(${IN_PERIOD}) GROUP BY ${name}`
