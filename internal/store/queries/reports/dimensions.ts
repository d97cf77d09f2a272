import { foldCase, foldCaseSql } from '../../../filters/contains.js'
import { EQUALITY, type Field, SEARCHED } from '../../../filters/filter-fields.js'
import type { Condition } from '../../../filters/parse.js'
import { COST_BASES } from '../../../records/bases.js'
import { isTagField, keyOfTagField, NOT_DECLARED, pairStart, type TagField } from '../../../records/dimensions.js'
import {
  CONFIDENCE_BANDS,
  EXPORT_ELIGIBILITIES,
  OUTPUT_STATES,
  PATHWAY_CATEGORIES,
  STAGE_ORIGINS,
} from '../../../records/interpretation.js'
import { providerName } from '../../../records/provider-names.js'
import { type Bindings, tagClause } from '../records/conditions.js'
import { isProviderSql, providerSql } from '../records/provider-sql.js'

/**
 * The dimensions that reports group and filter by, in the one place that declares them: adding an entry makes it a value of
 * `group_by`, filters of reports and budgets, and a member of their rows.
 */
export interface Dimension extends Field {
  /** SQL over a record: its value, a text without NULL. Default: the column of the same name. */
  readonly sql?: string
}

const TEXT = { kind: 'text' } as const
const text = (description: string, example: string) =>
  ({ type: TEXT, operators: SEARCHED, description, example }) as const
const choice = <V extends string>(values: readonly V[], description: string, example: V) =>
  ({ type: { kind: 'choice', values }, operators: EQUALITY, description, example }) as const

export const DIMENSIONS = {
  owner: { ...text('Attributed owner.', 'team-support') },
  service: { ...text('Attributed service.', 'support-chat') },
  provider: {
    ...text('Provider of the model, by its one name (`aws.bedrock` for `bedrock`).', 'openai'),
    sql: providerSql('provider'),
  },
  served_model: { ...text('Model that served the call.', 'gpt-4o') },
  requested_model: { ...text('Model that the call asked for.', 'gpt-4o') },
  pathway_category: {
    ...choice(PATHWAY_CATEGORIES, 'How the call reached its provider.', 'application_direct'),
  },
  ingestion_layer: { ...text('Layer that captured the call.', 'gateway') },
  output_state: { ...choice(OUTPUT_STATES, 'State of the result.', 'inferred') },
  confidence_band: { ...choice(CONFIDENCE_BANDS, 'Band of the confidence.', 'chargeback_ready') },
  stage_origin: { ...choice(STAGE_ORIGINS, 'Stage that produced the result.', 'stage_a') },
  export_eligibility: {
    ...choice(EXPORT_ELIGIBILITIES, 'Whether the call may be charged back, or the reason why not.', 'eligible'),
  },
  contested: {
    ...text('The kind of fact that contradicts the attribution; empty if none does.', 'workload_identity'),
  },
  region: { ...text('Region that the call states; empty if it states none.', 'eu-central-1') },
  cost_basis: { ...choice(COST_BASES, 'Where the cost comes from.', 'price_book') },
  pool: {
    ...text('Cost pool that the call was allocated to; empty if it was attributed to a service.', 'unallocated'),
    sql: "if(stage_origin = 'stage_c', toString(service), '')",
  },
} as const satisfies Readonly<Record<string, Dimension>>

export type DimensionName = keyof typeof DIMENSIONS
export const DIMENSION_NAMES = Object.keys(DIMENSIONS) as [DimensionName, ...DimensionName[]]

/** A dimension, or the field of a tag key that the tenant has declared. */
export type GroupField = DimensionName | TagField

/** SQL of the value of a dimension, or of a tag, in a record. */
export function dimensionSql(name: GroupField): string {
  if (isTagField(name)) return tagSql(name)
  const { sql }: Dimension = DIMENSIONS[name]
  return sql ?? name
}

/**
 * The value of a tag: empty for calls without it, `NOT_DECLARED` for those from before the declaration. The key is written as hex
 * digits, so that it is never read as SQL.
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
