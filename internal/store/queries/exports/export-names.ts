import { DIMENSIONS_MAX, type TagField } from '../../../records/dimensions.js'
import { NAMED, type Named } from '../../../records/export-names.js'
import { IN_PERIOD } from '../../snapshot.js'
import { ATTRIBUTIONS } from '../../tables/attributions.js'
import { IS_EXPORTED } from '../records/exported.js'
import { dimensionSql } from '../reports/dimensions.js'

/** Columns of staged groups for the tags by which an export is grouped, in the order of its grain. */
export type TagColumn = `tag_${number}`
export const tagColumn = (place: number): TagColumn => `tag_${place}`

/** A column by whose values records are grouped: a member of records that they store as text, or a tag. */
export type Label = Named | TagColumn
export const LABELS: readonly Label[] = [...NAMED, ...Array.from({ length: DIMENSIONS_MAX }, (_, i) => tagColumn(i))]

/** The labels that groups by these tags may have. */
export const labelsWith = (tags: readonly TagField[]): readonly Label[] => LABELS.slice(0, NAMED.length + tags.length)

/** The value of a label in a record. @param tags of the grain */
const labelSql = (label: Label, tags: readonly TagField[]): string => {
  const tag = tags.find((_, i) => tagColumn(i) === label)
  return dimensionSql(tag ?? (label as Named))
}

/**
 * Names are grouped by numbers, two per group key: building and hashing a key of four strings for each record takes as
 * long as everything else in the query. A number is computed once per distinct name in a block, because the columns are
 * LowCardinality; that of a tag once per record.
 *
 * Two 64-bit numbers are combined into one by XOR; the first number gives back the second. On a collision, of names or
 * of combined numbers, groups are dropped or duplicated but never merged: the totals of the file then differ from those
 * of the records, and the export fails. The probability is below one in 10 million for a million groups, and nobody can
 * provoke it, because the hash is keyed with `seed`.
 */
const numberOf = (label: Label, tags: readonly TagField[]): string =>
  `sipHash64Keyed(({seed:UInt64}, toUInt64(${LABELS.indexOf(label)})), ${labelSql(label, tags)})`

/** SQL fragments that group records by some names. Query parameters: `seed` and those of a selection. */
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
 * All records of the selection must be grouped, not only the exported ones: the others form a group of their own, which
 * is dropped. Filtering single records out of each block would cost more than summing them up.
 *
 * @param wanted must not be empty
 */
export function numberedGroups(wanted: readonly Label[], tags: readonly TagField[]): NumberedGroups {
  const number = (label: Label): string => numberOf(label, tags)
  const pairs = LABELS.flatMap((_, index) => (index % 2 === 0 ? [LABELS.slice(index, index + 2)] : []))
    .map((pair) => pair.filter((label) => wanted.includes(label)))
    .filter((pair) => pair.length > 0)
  const keys: string[] = []
  const selected = [`any(${IS_EXPORTED}) AS n_exported`]
  const conditions = ['n_exported']
  const joins: string[] = []
  const join = (label: Label, on: string): void => {
    joins.push(`INNER JOIN (${namesWithNumbers(label, tags)}) AS ${label} ON ${label}.number = ${on}`)
  }
  for (const [index, [first, second]] of pairs.entries()) {
    if (first === undefined) continue
    const key = `n_key_${index}`
    keys.push(key)
    if (second === undefined) {
      selected.push(`if(${IS_EXPORTED}, ${number(first)}, 0) AS ${key}`)
      join(first, key)
      continue
    }
    selected.push(`if(${IS_EXPORTED}, bitXor(${number(first)}, ${number(second)}), 0) AS ${key}`)
    selected.push(`min(${number(first)}) AS n_${first}`, `max(${number(first)}) AS n_${first}_max`)
    conditions.push(`n_${first} = n_${first}_max`)
    join(first, `n_${first}`)
    join(second, `bitXor(${key}, n_${first})`)
  }
  return { keys, selected, joins: joins.join('\n'), condition: conditions.join(' AND ') }
}

/** All names of the tenant's records in the period, and maybe more: `indexHint` avoids reading the time column. */
const namesWithNumbers = (label: Label, tags: readonly TagField[]): string => `
  SELECT ${labelSql(label, tags)} AS text, ${numberOf(label, tags)} AS number FROM ${ATTRIBUTIONS.name}
  WHERE tenant_id = {tenant:String} AND indexHint(${IN_PERIOD}) GROUP BY text, number`
