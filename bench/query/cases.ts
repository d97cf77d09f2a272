import { SORT_FIELDS } from '../../internal/filters/filter-fields.js'
import { type Condition, parseFilters } from '../../internal/filters/parse.js'
import { BY_LABELS, columnOf, LABEL_FIELDS, tableSortedBy } from '../../internal/store/tables/sorted-copies.js'

/**
 * The queries of the bench: for every filter field, filters that match nothing, a few, some and nearly all
 * records; and combinations. Each beside what a person would write in SQL for it.
 */
export interface Filter {
  readonly name: string
  readonly conditions: readonly Condition[]
  /** The same with literals. */
  readonly sql: string
  /** Tables in whose order a person might look, beside the sort's. */
  readonly tables: readonly string[]
  readonly kind: 'none' | 'single' | 'contains' | 'combination' | 'recent'
}

/** Values that are there, found out from the data. */
export interface Known {
  /** Of a record in the middle, each in the form that callers write it in, and as a literal of SQL. */
  readonly id: string
  readonly invocationId: string
  readonly idHex: string
  readonly traceId: string
  readonly costUsd: string
  readonly energyWh: string
  readonly carbonGco2e: string
  /** Amounts that 99.999 %, 99.9 %, 90 % and half of the records are below, of cost, energy and carbon. */
  readonly quantiles: Readonly<Record<'cost_usd' | 'energy_wh' | 'carbon_gco2e', readonly string[]>>
  readonly firstMs: number
  readonly lastMs: number
}

const parsed = (parameters: readonly (readonly [string, string])[]): readonly Condition[] => {
  const read = parseFilters(parameters)
  if (!read.ok) throw new Error(`${read.fault.pointer}: ${read.fault.detail}`)
  return read.value
}

const OPERATORS = { eq: '=', ne: '!=', gt: '>', gte: '>=', lt: '<', lte: '<=' } as const
type Compared = keyof typeof OPERATORS
const quoted = (text: string): string => `'${text}'`

const tablesOf = (field: string): readonly string[] => [
  'attributions',
  ...SORT_FIELDS.filter((sort) => sort === field).map(tableSortedBy),
  ...(LABEL_FIELDS.some((label) => label === field) ? [BY_LABELS] : []),
]

function text(field: string, operator: Compared, value: string): Filter {
  return {
    name: `${field}[${operator}]=${value}`,
    conditions: parsed([[`filter[${field}][${operator}]`, value]]),
    sql: `${field} ${OPERATORS[operator]} ${quoted(value)}`,
    tables: tablesOf(field),
    kind: 'single',
  }
}

const list = (field: string, values: readonly string[]): Filter => ({
  name: `${field}[in] ${values.length} values`,
  conditions: parsed([[`filter[${field}][in]`, values.join(',')]]),
  sql: `${field} IN (${values.map(quoted).join(', ')})`,
  tables: tablesOf(field),
  kind: 'single',
})

/** A person also knows the values of a column. */
const contains = (field: string, value: string): Filter => ({
  name: `${field}[contains]=${value}`,
  conditions: parsed([[`filter[${field}][contains]`, value]]),
  sql: `${field} IN (SELECT value FROM attribution_values WHERE tenant_id = {tenant:String} AND field = ${quoted(field)}
        AND value LIKE ${quoted(`%${value}%`)})`,
  tables: tablesOf(field),
  kind: 'contains',
})

const amount = (field: string, operator: Compared, value: string): Filter => ({
  ...text(field, operator, value),
  sql: `${field} ${OPERATORS[operator]} toDecimal128('${value}', 18)`,
})

const confidence = (operator: Compared, value: string): Filter => ({
  ...text('confidence', operator, value),
  sql: `confidence ${OPERATORS[operator]} toDecimal32('${value}', 4)`,
})

const time = (field: string, operator: Compared, ms: number): Filter => {
  const instant = new Date(ms).toISOString()
  return {
    name: `${field}[${operator}]=${instant}`,
    conditions: parsed([[`filter[${field}][${operator}]`, instant]]),
    sql: `${columnOf(field)} ${OPERATORS[operator]} fromUnixTimestamp64Milli(toInt64(${ms}))`,
    tables: tablesOf(field),
    kind: 'single',
  }
}

const both = (...filters: readonly Filter[]): Filter => ({
  name: filters.map(({ name }) => name).join(' & '),
  conditions: filters.flatMap(({ conditions }) => conditions),
  sql: filters.map(({ sql }) => sql).join(' AND '),
  tables: [...new Set(filters.flatMap(({ tables }) => tables))],
  kind: 'combination',
})

/** The filter, of calls since a time. */
export const since = (filter: Filter, ms: number): Filter => {
  const recent = both(filter, time('event_time', 'gte', ms))
  return { ...recent, kind: 'recent' }
}

const bytes = (hex: string): string => `toFixedString(unhex('${hex}'), 16)`
const HOUR_MS = 3_600_000
const NOBODY = '00000000000000000000000000'

export const filtersOf = (known: Known): readonly Filter[] => [
  { name: 'none', conditions: [], sql: '1', tables: [], kind: 'none' },
  ...byId(known),
  ...BY_TEXT,
  ...byAmount(known),
  ...BY_CLOSED_LIST,
  ...byTime(known),
  text('trace_id', 'eq', known.traceId),
  text('trace_id', 'eq', 'none'),
  text('trace_id', 'ne', known.traceId),
  ...combined(known),
]

function byId(known: Known): readonly Filter[] {
  const id = { tables: ['attributions'], kind: 'single' } as const
  return [
    { ...id, name: 'id[eq]', conditions: parsed([['filter[id][eq]', known.id]]), sql: `id = ${bytes(known.idHex)}` },
    {
      ...id,
      name: 'id[eq] of none',
      conditions: parsed([['filter[id][eq]', `attr_${NOBODY}`]]),
      sql: `id = ${bytes('0'.repeat(32))}`,
    },
    {
      ...id,
      name: 'invocation_id[eq]',
      conditions: parsed([['filter[invocation_id][eq]', known.invocationId]]),
      sql: `id = ${bytes(known.idHex)}`,
    },
    { ...id, name: 'id[gt]', conditions: parsed([['filter[id][gt]', known.id]]), sql: `id > ${bytes(known.idHex)}` },
    {
      ...id,
      name: 'id[lt] of a few',
      conditions: parsed([['filter[id][lt]', `attr_000${NOBODY.slice(3, 5)}1${NOBODY.slice(6)}`]]),
      sql: `id < ${bytes(`0000000${'8'.padEnd(25, '0')}`)}`,
    },
  ]
}

const BY_TEXT: readonly Filter[] = [
  text('provider', 'eq', 'provider-0'),
  text('provider', 'eq', 'provider-7'),
  text('provider', 'eq', 'nobody'),
  text('provider', 'ne', 'provider-0'),
  list('provider', ['provider-3', 'provider-4']),
  contains('provider', 'der-2'),
  text('served_model', 'eq', 'model-0'),
  text('served_model', 'eq', 'model-59'),
  text('served_model', 'eq', 'none'),
  text('served_model', 'ne', 'model-0'),
  list('served_model', ['model-11', 'model-58']),
  contains('served_model', 'el-5'),
  text('service', 'eq', 'service-0'),
  text('service', 'eq', 'service-7'),
  text('service', 'eq', 'service-1999'),
  text('service', 'eq', 'none'),
  text('service', 'ne', 'service-0'),
  list(
    'service',
    Array.from({ length: 200 }, (_, i) => `service-${i * 9 + 1}`),
  ),
  contains('service', 'ce-199'),
  contains('service', 'nothing'),
  text('owner', 'eq', 'team-1'),
  text('owner', 'eq', 'team-overridden'),
  text('owner', 'eq', 'person-4999@example.com'),
  text('owner', 'eq', 'none'),
  text('owner', 'ne', 'team-1'),
  list('owner', ['team-2', 'person-77@example.com']),
  contains('owner', 'person-12'),
  contains('owner', 'team'),
]

const byAmount = (known: Known): readonly Filter[] =>
  (['cost_usd', 'energy_wh', 'carbon_gco2e'] as const).flatMap((field) => {
    const [rarest = '', rare = '', some = '', half = ''] = known.quantiles[field]
    const one = { cost_usd: known.costUsd, energy_wh: known.energyWh, carbon_gco2e: known.carbonGco2e }[field]
    return [
      amount(field, 'gt', '99999999'),
      amount(field, 'gt', rarest),
      amount(field, 'gt', rare),
      amount(field, 'gte', some),
      amount(field, 'lt', half),
      amount(field, 'gte', '0'),
      amount(field, 'eq', one),
      amount(field, 'ne', one),
    ]
  })

const BY_CLOSED_LIST: readonly Filter[] = [
  confidence('eq', '0.95'),
  confidence('eq', '0.82'),
  confidence('eq', '0.3333'),
  confidence('gte', '0.8'),
  confidence('lt', '0.3001'),
  confidence('lt', '0.05'),
  ...['chargeback_ready', 'provisional', 'estimated'].map((value) => text('confidence_band', 'eq', value)),
  ...['stage_a', 'stage_b', 'stage_c'].map((value) => text('stage_origin', 'eq', value)),
  ...['service_resolved', 'allocation_policy', 'principal_resolved', 'manual_override'].map((value) =>
    text('evidence_basis', 'eq', value),
  ),
  { ...contains('evidence_basis', 'pool'), sql: "evidence_basis LIKE '%pool%'" },
  ...['none', 'degraded_serving', 'model_recalled', 'disabled'].map((value) => text('degradation_state', 'eq', value)),
  ...['eligible', 'below_floor', 'advisory', 'disputed', 'residency_restricted'].map((value) =>
    text('export_eligibility', 'eq', value),
  ),
  ...['agent_workflow', 'gateway_mediated', 'batch'].map((value) => text('pathway_category', 'eq', value)),
  ...['inferred', 'overridden', 'disputed', 'allocated', 'unresolved'].map((value) =>
    text('output_state', 'eq', value),
  ),
  text('output_state', 'ne', 'deterministically_resolved'),
]

const inTheMiddle = ({ firstMs, lastMs }: Known, field: string, hours: number): Filter => {
  const middleMs = Math.floor((firstMs + lastMs) / 2)
  return {
    ...both(time(field, 'gte', middleMs), time(field, 'lt', middleMs + hours * HOUR_MS)),
    name: `${field} of ${hours} h in the middle`,
    kind: 'single',
  }
}

const byTime = (known: Known): readonly Filter[] =>
  ['event_time', 'materialized_at'].flatMap((field) => [
    time(field, 'gte', known.lastMs - HOUR_MS),
    time(field, 'lt', known.firstMs + HOUR_MS),
    inTheMiddle(known, field, 1),
    inTheMiddle(known, field, 24),
    inTheMiddle(known, field, 24 * 14),
    time(field, 'gte', known.lastMs + 24 * HOUR_MS),
    time(field, 'gte', known.firstMs),
  ])

function combined(known: Known): readonly Filter[] {
  const lastHour = time('event_time', 'gte', known.lastMs - HOUR_MS)
  return [
    both(lastHour, text('provider', 'eq', 'provider-0')),
    both(lastHour, contains('owner', 'person-12')),
    both(inTheMiddle(known, 'event_time', 24), contains('service', 'ce-199')),
    both(
      inTheMiddle(known, 'event_time', 24),
      text('service', 'eq', 'service-7'),
      amount('cost_usd', 'gt', known.quantiles.cost_usd[2] ?? '1'),
    ),
    both(text('service', 'eq', 'service-0'), text('provider', 'eq', 'provider-1')),
    both(text('service', 'eq', 'service-0'), text('owner', 'eq', 'team-1')),
    both(text('served_model', 'eq', 'model-0'), text('provider', 'eq', 'provider-1')),
    both(text('stage_origin', 'eq', 'stage_c'), confidence('gte', '0.5')),
    both(text('stage_origin', 'eq', 'stage_b'), text('export_eligibility', 'eq', 'eligible')),
    both(text('provider', 'eq', 'provider-0'), amount('cost_usd', 'gt', known.quantiles.cost_usd[1] ?? '1')),
    both(
      amount('cost_usd', 'lt', known.quantiles.cost_usd[3] ?? '1'),
      amount('energy_wh', 'gt', known.quantiles.energy_wh[2] ?? '1'),
    ),
    both(
      text('owner', 'eq', 'team-overridden'),
      text('output_state', 'eq', 'overridden'),
      text('provider', 'ne', 'provider-0'),
    ),
    both(text('pathway_category', 'eq', 'agent_workflow'), text('output_state', 'eq', 'disputed')),
    both(contains('served_model', 'el-1'), contains('service', 'ce-1'), text('stage_origin', 'eq', 'stage_b')),
  ]
}
