import { readFileSync } from 'node:fs'
import type { DimensionName } from '../../filters/report-dimensions.js'
import type { WireGroup, WireName } from '../../records/record-fields.js'

/**
 * The columns of FOCUS exports: the supported columns of the standard's Cost and Usage dataset, and custom columns. The
 * facts of the standard are in `columns.data.json` (FOCUS 1.4, CC BY 4.0).
 */

/** 1.2 is for tools that lag behind: it includes ProviderName and PublisherName and omits later columns. */
export const FOCUS_VERSIONS = ['1.4', '1.2'] as const
export type FocusVersion = (typeof FOCUS_VERSIONS)[number]

export type ColumnType = 'string' | 'decimal' | 'datetime' | 'json' | 'boolean'

export interface FocusColumn {
  readonly name: string
  readonly type: ColumnType
  readonly nullable: boolean
  /** Only for custom columns; the standard describes its own. */
  readonly description?: string
  /** A dimension, or filters: by default, the column is only in files that are grouped by it, or that have filters. */
  readonly shownWith?: DimensionName | 'filters'
}

interface StandardColumn {
  readonly name: string
  readonly type: ColumnType
  readonly nullable: boolean
  readonly introduced: string
}

/** Not validated: the file is part of the product. */
const STANDARD = (
  JSON.parse(readFileSync(new URL('./columns.data.json', import.meta.url), 'utf8')) as {
    readonly columns: readonly StandardColumn[]
  }
).columns

/** Columns of the standard that attribution records can fill. */
const FILLED = [
  'BilledCost',
  'BillingAccountId',
  'BillingAccountName',
  'BillingCurrency',
  'BillingPeriodEnd',
  'BillingPeriodStart',
  'ChargeCategory',
  'ChargeClass',
  'ChargeDescription',
  'ChargeFrequency',
  'ChargePeriodEnd',
  'ChargePeriodStart',
  'ConsumedQuantity',
  'ConsumedUnit',
  'ContractedCost',
  'ContractedUnitPrice',
  'EffectiveCost',
  'HostProviderName',
  'InvoiceIssuerName',
  'ListCost',
  'ListUnitPrice',
  'PricingCategory',
  'PricingQuantity',
  'PricingUnit',
  'RegionId',
  'RegionName',
  'ServiceCategory',
  'ServiceName',
  'ServiceProviderName',
  'ServiceSubcategory',
  'SkuId',
  'SkuMeter',
  'SkuPriceDetails',
  'SkuPriceId',
  'SubAccountId',
  'SubAccountName',
  'SubAccountType',
  'Tags',
] as const

/** Mandatory in 1.2, removed in 1.4. */
const REMOVED: readonly FocusColumn[] = [
  { name: 'ProviderName', type: 'string', nullable: false },
  { name: 'PublisherName', type: 'string', nullable: false },
]

/** Custom columns of every version, alphabetically. */
const CUSTOM: readonly FocusColumn[] = [
  {
    name: 'x_CarbonDioxideEquivalentGrams',
    type: 'decimal',
    nullable: true,
    description:
      'Carbon dioxide equivalent of the calls, grams: measured by the caller or modelled from tokens and the ' +
      'grid. Null when unknown for all of them. Grams from different methods are not comparable.',
  },
  {
    name: 'x_CarbonIsLowerBound',
    type: 'boolean',
    nullable: true,
    description:
      'Whether carbon is unknown for some of the calls, which the figure then excludes. Null when the figure is null.',
  },
  {
    name: 'x_CohortSuppressed',
    type: 'boolean',
    nullable: false,
    description:
      'Whether the row combines groups with too few people to be shown, or calls of which few people use one ' +
      'kind of tokens. It has only the labels that these share; its cost is included in the totals.',
  },
  {
    name: 'x_CostBasis',
    type: 'string',
    nullable: true,
    description: 'Where the cost of the calls comes from. Null when rows are not grouped by it.',
    shownWith: 'cost_basis',
  },
  {
    name: 'x_EnergyHasClassEstimates',
    type: 'boolean',
    nullable: true,
    description:
      'Whether energy and carbon of some of the calls are estimated from the class of a model of unknown size, with a ' +
      'wide range. Null when the figure is null.',
  },
  {
    name: 'x_EnergyIsLowerBound',
    type: 'boolean',
    nullable: true,
    description:
      'Whether energy is unknown for some of the calls, which the figure then excludes. Null when the figure is null.',
  },
  {
    name: 'x_EnergyWattHours',
    type: 'decimal',
    nullable: true,
    description:
      'Energy of the calls, watt-hours: measured by the caller, modelled from tokens or estimated. Null when unknown for ' +
      'all of them.',
  },
  {
    name: 'x_IngestionLayer',
    type: 'string',
    nullable: true,
    description: 'Layer that captured the calls. Null when rows are not grouped by it.',
    shownWith: 'ingestion_layer',
  },
  {
    name: 'x_InputTokenCount',
    type: 'decimal',
    nullable: true,
    description:
      'Input tokens, including cache reads and writes. Null when the count is missing for a call of the row.',
  },
  {
    name: 'x_InvocationCount',
    type: 'decimal',
    nullable: true,
    description: 'Number of model calls. Null when another row of the same calls carries the count.',
  },
  {
    name: 'x_MinimumConfidence',
    type: 'decimal',
    nullable: false,
    description: 'The lowest confidence among the attributions in the row, 0.80 to 0.95.',
  },
  {
    name: 'x_OutputState',
    type: 'string',
    nullable: true,
    description: 'State of the attribution of the calls. Null when rows are not grouped by it.',
    shownWith: 'output_state',
  },
  {
    name: 'x_OutputTokenCount',
    type: 'decimal',
    nullable: true,
    description: 'Output tokens, including reasoning. Null when the count is missing for a call of the row.',
  },
  {
    name: 'x_PathwayCategory',
    type: 'string',
    nullable: true,
    description: 'How the calls reached their provider. Null when rows are not grouped by it.',
    shownWith: 'pathway_category',
  },
  {
    name: 'x_RequestedModelName',
    type: 'string',
    nullable: true,
    description: 'Model that the calls asked for. Null when rows are not grouped by it.',
    shownWith: 'requested_model',
  },
  {
    name: 'x_Scope',
    type: 'string',
    nullable: false,
    description:
      'requested, or parent where filters were dropped because they select too few people: the row is then one ' +
      'of a larger group than the one asked for.',
    shownWith: 'filters',
  },
  {
    name: 'x_StageOrigin',
    type: 'string',
    nullable: true,
    description: 'Stage that attributed the calls. Null when rows are not grouped by it.',
    shownWith: 'stage_origin',
  },
]

const standard = (name: string): FocusColumn & { readonly introduced: string } => {
  const found = STANDARD.find((column) => column.name === name)
  if (found === undefined) throw new Error(`FOCUS has no column ${name}`)
  const { type, nullable, introduced } = found
  return { name, type, nullable, introduced }
}

const NUMBERED = (version: string): number => Number(version.replace('.', '')) // 1.4 -> 14: one digit each

/** The columns of a version's export in the order of the standard: its own by name, then custom ones by name. */
export function columnsOf(version: FocusVersion): readonly FocusColumn[] {
  const own = FILLED.map(standard)
    .filter(({ introduced }) => NUMBERED(introduced) <= NUMBERED(version))
    .map(({ introduced: _, ...column }) => column)
  const all = version === '1.2' ? [...own, ...REMOVED] : own
  return [...all.map(withDimension).toSorted((one, other) => (one.name < other.name ? -1 : 1)), ...CUSTOM]
}

const withDimension = (column: FocusColumn): FocusColumn =>
  column.name.startsWith('Region') ? { ...column, shownWith: 'region' } : column

/** All columns of any version. */
export const COLUMN_NAMES: readonly [string, ...string[]] = [
  'BilledCost',
  ...new Set(
    FOCUS_VERSIONS.flatMap((version) => columnsOf(version).map(({ name }) => name)).filter(
      (name) => name !== 'BilledCost',
    ),
  ),
]

/** A field of a record as the API shows it, or as its event states it. */
type ShownField =
  | WireName<{ readonly wire: WireGroup } | { readonly isExplained: true } | { readonly isStated: true }>
  | 'id'
  | 'invocation_id'
  | 'attributed_identity'

const IN_FILES = null
const AGGREGATES = 'rows are aggregates'
const NOT_GROUPED = 'rows are not grouped by it'
const SINGLE = 'applies to a single record'
const EXPLAINED = 'applies to a single record; see its evidence card'

/** Why a field of records is not in the files (FOCUS, dataset completeness), for every field. */
const LEFT_OUT: Readonly<Record<ShownField, string | typeof IN_FILES>> = {
  id: AGGREGATES,
  invocation_id: AGGREGATES,
  event_id: AGGREGATES,
  event_time: IN_FILES,
  materialized_at: SINGLE,
  attributed_identity: 'never leaves the service; people appear only in cohorts of five or more',
  trace_id: AGGREGATES,
  span_id: AGGREGATES,
  parent_span_id: AGGREGATES,
  instrumentation: AGGREGATES,
  response_id: AGGREGATES,
  request_id: AGGREGATES,
  operation_id: AGGREGATES,
  attempt: AGGREGATES,
  seen_by: AGGREGATES,
  provider: IN_FILES,
  requested_model: NOT_GROUPED,
  served_model: IN_FILES,
  service: IN_FILES,
  owner: IN_FILES,
  cost_usd: IN_FILES,
  energy_wh: IN_FILES,
  carbon_gco2e: IN_FILES,
  confidence: IN_FILES,
  attribution_confidence: 'applies to a single record; see x_MinimumConfidence',
  confidence_band: 'every exported record is chargeback_ready; see x_MinimumConfidence',
  export_eligibility: 'every exported record is eligible',
  stage_origin: NOT_GROUPED,
  evidence_basis: EXPLAINED,
  evidence: EXPLAINED,
  inference: EXPLAINED,
  cost_details: EXPLAINED,
  footprint_details: EXPLAINED,
  contested: SINGLE,
  pathway_category: NOT_GROUPED,
  output_state: NOT_GROUPED,
  ingestion_layer: NOT_GROUPED,
  intake: NOT_GROUPED,
  principal: NOT_GROUPED,
  cost_basis: NOT_GROUPED,
  cost_bound: NOT_GROUPED,
  energy_basis: NOT_GROUPED,
  carbon_basis: NOT_GROUPED,
  usage_basis: NOT_GROUPED,
  outcome: NOT_GROUPED,
  degradation_state: SINGLE,
  freshness: SINGLE,
  model_version: EXPLAINED,
  input_tokens: IN_FILES,
  output_tokens: IN_FILES,
  cached_input_tokens: IN_FILES,
  cached_audio_input_tokens: NOT_GROUPED,
  cached_image_input_tokens: NOT_GROUPED,
  cache_write_tokens: IN_FILES,
  cache_write_ttl_seconds: NOT_GROUPED,
  cache_write_5m_tokens: IN_FILES,
  cache_write_1h_tokens: IN_FILES,
  reasoning_tokens: IN_FILES,
  audio_input_tokens: IN_FILES,
  audio_output_tokens: IN_FILES,
  image_input_tokens: IN_FILES,
  image_output_tokens: IN_FILES,
  web_search_calls: IN_FILES,
  file_search_calls: IN_FILES,
  code_execution_calls: IN_FILES,
  billed_units: IN_FILES,
  alternative_input_tokens: EXPLAINED,
  alternative_output_tokens: EXPLAINED,
  latency_ms: 'does not affect any charge',
  estimated_cost_usd: EXPLAINED,
  service_tier: NOT_GROUPED,
  speed: NOT_GROUPED,
  served_from_cache: NOT_GROUPED,
  region: NOT_GROUPED,
  assumptions: EXPLAINED,
  k8s_namespace: NOT_GROUPED,
  k8s_workload: NOT_GROUPED,
  workload_identity: NOT_GROUPED,
  tags: "only declared tags by which rows are grouped are in Tags: the producer's other tags may name people",
}

/** Record fields that are not in the files, with the reason. */
export const LEFT_OUT_FIELDS: readonly (readonly [field: string, reason: string])[] = Object.entries(LEFT_OUT).flatMap(
  ([field, reason]) => (reason === IN_FILES ? [] : [[field, reason] as const]),
)

/** Product names of providers where they differ from `<provider> API`, by their one name. */
export const PRODUCTS: Readonly<Record<string, string>> = {
  openai: 'OpenAI API',
  anthropic: 'Claude API',
  'azure.ai.openai': 'Azure OpenAI Service',
  'azure.ai.inference': 'Azure AI Foundry',
  'aws.bedrock': 'Amazon Bedrock',
  'gcp.vertex_ai': 'Vertex AI',
  'gcp.gemini': 'Gemini API',
  mistral: 'Mistral AI API',
  groq: 'GroqCloud',
}
