import { readFileSync } from 'node:fs'

/**
 * The columns of our FOCUS exports: which of the standard's Cost and Usage dataset we have, and the custom ones that we
 * add. Facts of the standard stand in `columns.data.json` (FOCUS 1.4, CC BY 4.0).
 */

/** 1.2 for tools that lag: ProviderName and PublisherName back, later columns out. */
export const FOCUS_VERSIONS = ['1.4', '1.2'] as const
export type FocusVersion = (typeof FOCUS_VERSIONS)[number]

export type ColumnType = 'string' | 'decimal' | 'datetime' | 'json' | 'boolean'

export interface FocusColumn {
  readonly name: string
  readonly type: ColumnType
  readonly nullable: boolean
  /** What a person wants to know of it; only of custom columns, the standard describes its own. */
  readonly description?: string
}

interface StandardColumn {
  readonly name: string
  readonly type: ColumnType
  readonly nullable: boolean
  readonly introduced: string
}

/** The file is part of the product, so its shape is a fact and not an input. */
const STANDARD = (
  JSON.parse(readFileSync(new URL('./columns.data.json', import.meta.url), 'utf8')) as {
    readonly columns: readonly StandardColumn[]
  }
).columns

/** Of the standard's columns, those that a ledger of attributed calls can fill. */
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

/** Removed by 1.4; in 1.2 mandatory. */
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
      'Carbon dioxide equivalent of the calls, grams: measured by the caller or modelled from tokens and the grid. Null when unknown of all of them. Grams of different methods do not compare.',
  },
  {
    name: 'x_CarbonIsLowerBound',
    type: 'boolean',
    nullable: true,
    description:
      'Whether carbon is unknown of some of the calls, so that the figure leaves them out. Null where the figure is.',
  },
  {
    name: 'x_CohortSuppressed',
    type: 'boolean',
    nullable: false,
    description:
      'Whether the row stands for groups in which too few people appear to be shown (k = 5). Such a row has no owner, service or model; its cost is part of the totals.',
  },
  {
    name: 'x_EnergyIsLowerBound',
    type: 'boolean',
    nullable: true,
    description:
      'Whether energy is unknown of some of the calls, so that the figure leaves them out. Null where the figure is.',
  },
  {
    name: 'x_EnergyWattHours',
    type: 'decimal',
    nullable: true,
    description:
      'Energy of the calls, watt-hours: measured by the caller or modelled from tokens. Null when unknown of all of them.',
  },
  {
    name: 'x_InputTokenCount',
    type: 'decimal',
    nullable: true,
    description: 'Input tokens, those from and to a cache included. Null when a call of the row lacks its count.',
  },
  {
    name: 'x_InvocationCount',
    type: 'decimal',
    nullable: true,
    description: 'Calls to a model. Null where another row of the same calls has it.',
  },
  {
    name: 'x_MinimumConfidence',
    type: 'decimal',
    nullable: false,
    description: 'The lowest confidence of an attribution in the row, 0.80 to 0.95.',
  },
  {
    name: 'x_OutputTokenCount',
    type: 'decimal',
    nullable: true,
    description: 'Output tokens, reasoning included. Null when a call of the row lacks its count.',
  },
]

const standard = (name: string): FocusColumn & { readonly introduced: string } => {
  const found = STANDARD.find((column) => column.name === name)
  if (found === undefined) throw new Error(`FOCUS has no column ${name}`)
  const { type, nullable, introduced } = found
  return { name, type, nullable, introduced }
}

const NUMBERED = (version: string): number => Number(version.replace('.', '')) // 1.4 -> 14: one digit each

/** The columns of a version's export in the order that the standard wants: its own by name, then custom ones by name. */
export function columnsOf(version: FocusVersion): readonly FocusColumn[] {
  const own = FILLED.map(standard)
    .filter(({ introduced }) => NUMBERED(introduced) <= NUMBERED(version))
    .map(({ introduced: _, ...column }) => column)
  const all = version === '1.2' ? [...own, ...REMOVED] : own
  return [...all.toSorted((one, other) => (one.name < other.name ? -1 : 1)), ...CUSTOM]
}

/** Every column that some version has. */
export const COLUMN_NAMES: readonly [string, ...string[]] = [
  'BilledCost',
  ...new Set(
    FOCUS_VERSIONS.flatMap((version) => columnsOf(version).map(({ name }) => name)).filter(
      (name) => name !== 'BilledCost',
    ),
  ),
]

/** What our records have and the files have not (FOCUS, dataset completeness), with the reason. */
export const LEFT_OUT_FIELDS: Readonly<Record<string, string>> = {
  id: 'rows are aggregates',
  invocation_id: 'rows are aggregates',
  attributed_identity: 'never leaves the service; people show as cohorts of five or more only',
  trace_id: 'rows are aggregates',
  requested_model: 'the model that served counts; see SkuPriceDetails',
  confidence_band: 'every exported record is chargeback_ready; see x_MinimumConfidence',
  stage_origin: 'of the single record; see its evidence card',
  evidence_basis: 'of the single record; see its evidence card',
  pathway_category: 'of the single record',
  output_state: 'of the single record',
  degradation_state: 'of the single record',
  freshness: 'of the single record',
  model_version: 'of the single record; see its evidence card',
  latency_ms: 'no charge depends on it',
  region: 'where a call ran is not known of most calls',
  tags: "the producer's tags may name people, and no group is formed by them",
}
