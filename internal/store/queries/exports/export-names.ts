import { ATTRIBUTIONS } from '../../tables/attributions.js'
import { IN_PERIOD, IS_EXPORTED } from './export-records.js'

/** What rows of an export are parted by and records hold as text. */
export const NAMED = ['provider', 'owner', 'service', 'served_model'] as const
export type Named = (typeof NAMED)[number]

/**
 * Numbers for names, so that a record is put into its group by two of them: making and hashing a key of four texts for
 * each record takes as long as all else that is done with it. A number is made once for each name that a block of records
 * has, as their columns hold each name once.
 *
 * Two numbers of 64 bits are put together to one; the second comes back from the first. Names that share a number, or groups
 * whose numbers together are the same, are dropped or doubled, never shown as one: the file's sum is then not that of its
 * records, and it is not made. Its chance is below one in 10 million for a million groups, and no one can bring it about: the
 * hash is keyed with `seed`.
 */
const numberOf = (name: Named): string => `sipHash64Keyed(({seed:UInt64}, toUInt64(${NAMED.indexOf(name)})), ${name})`

/** How records are grouped by some of their names. For a query with the parameters `seed` and those of a selection. */
export interface NumberedGroups {
  /** Of the query over records: what tells groups apart, what it selects beside its sums, and its `GROUP BY`. */
  readonly keys: readonly string[]
  readonly selected: readonly string[]
  /** Of the query over its groups: joins that give each of them its names, as `<name>.text`. */
  readonly joins: string
  /** Of the same: groups of records that are exported. */
  readonly condition: string
}

/**
 * All records of the selection must be grouped, not only those that are exported: the others make a group of their own,
 * which is dropped. Taking single records out of each block would cost more than adding them up.
 *
 * @param wanted at least one
 */
export function numberedGroups(wanted: readonly Named[]): NumberedGroups {
  const pairs = NAMED.flatMap((_, place) => (place % 2 === 0 ? [NAMED.slice(place, place + 2)] : []))
    .map((pair) => pair.filter((name) => wanted.includes(name)))
    .filter((pair) => pair.length > 0)
  const keys: string[] = []
  const selected = [`any(${IS_EXPORTED}) AS n_exported`]
  const conditions = ['n_exported']
  const joins: string[] = []
  const join = (name: Named, number: string): void => {
    joins.push(`INNER JOIN (${namesWithNumbers(name)}) AS ${name} ON ${name}.number = ${number}`)
  }
  for (const [place, [first, second]] of pairs.entries()) {
    if (first === undefined) continue
    const key = `n_key_${place}`
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

/** All names of the tenant's records in the period, and maybe some more: nothing else need be read for that. */
const namesWithNumbers = (name: Named): string => `
  SELECT ${name} AS text, ${numberOf(name)} AS number FROM ${ATTRIBUTIONS.name}
  WHERE tenant_id = {tenant:String} AND indexHint(${IN_PERIOD}) GROUP BY ${name}`
