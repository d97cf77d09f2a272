import { foldCase, foldCaseSql } from '../../../filters/contains.js'
import type { Condition } from '../../../filters/parse.js'
import type { GroupField } from '../../../filters/report-dimensions.js'
import { isTagField, keyOfTagField, NOT_DECLARED, pairStart, type TagField } from '../../../records/dimensions.js'
import { providerName } from '../../../records/provider-names.js'
import { columnOf } from '../../tables/sorted-copies.js'
import { type Bindings, tagClause } from '../records/conditions.js'
import { isProviderSql, providerSql } from '../records/provider-sql.js'

/** SQL of the value of a dimension, or of a tag, in a record: a text without NULL. */
export function dimensionSql(name: GroupField): string {
  if (isTagField(name)) return tagSql(name)
  return name === 'provider' ? providerSql('provider') : columnOf(name)
}

/** Credentials by name, those of one name together; without one by id. Names are written as hex digits. */
export function credentialSql(names: ReadonlyMap<string, string>): string {
  if (names.size === 0) return 'toString(principal)'
  const texts = (all: Iterable<string>): string =>
    [...all].map((text) => `unhex('${Buffer.from(text).toString('hex')}')`).join(', ')
  return `transform(toString(principal), [${texts(names.keys())}], [${texts(names.values())}], toString(principal))`
}

/**
 * The value of a tag: empty for calls without it, `NOT_DECLARED` for those from before the declaration. The key is
 * written as hex digits, so that it is never read as SQL.
 */
function tagSql(field: TagField): string {
  const start = Buffer.from(pairStart(keyOfTagField(field)))
  const pair = `arrayFirst(pair -> startsWith(pair, unhex('${start.toString('hex')}')), dimensions)`
  return `if(empty(${pair}), '${NOT_DECLARED}', substring(${pair}, ${start.length + 1}))`
}

/** SQL of a filter on a dimension. Values are bound, and the query has the parameter `tenant`. */
export function dimensionCondition(
  { field, operator, values }: Condition<GroupField>,
  bindings: Pick<Bindings, 'bind'>,
): string {
  if (isTagField(field)) return tagClause(keyOfTagField(field), operator, values, bindings)
  // Any spelling selects the provider; `contains` searches the names that reports show.
  if (field === 'provider' && operator !== 'contains') {
    const isListed = isProviderSql('provider', values.map(providerName), (name) => bindings.bind(name, 'String'))
    return operator === 'ne' ? `NOT ${isListed}` : isListed
  }
  return conditionOn(dimensionSql(field), { operator, values }, bindings)
}

/** The same on another expression of a dimension's value. */
export function conditionOn(
  value: string,
  { operator, values }: Pick<Condition<string>, 'operator' | 'values'>,
  bindings: Pick<Bindings, 'bind'>,
): string {
  if (operator === 'contains') {
    return `position(${foldCaseSql(value)}, ${bindings.bind(foldCase(values[0] ?? ''), 'String')}) > 0`
  }
  const listed = `${value} IN (${values.map((each) => bindings.bind(each, 'String')).join(', ')})`
  return operator === 'ne' ? `NOT (${listed})` : listed
}
