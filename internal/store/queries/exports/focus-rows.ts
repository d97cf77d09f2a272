import type { Readable } from 'node:stream'
import type { ClickHouseClient } from '@clickhouse/client'
import { keyOfTagField, type TagField } from '../../../records/dimensions.js'
import { BILLED_UNITS, type BilledUnit, FOCUS_UNIT_OF } from '../../../text/call-words.js'
import { FORMULA } from '../../../text/csv.js'
import { EXPORT_FOLDS, EXPORT_GROUPS } from '../../tables/export-groups.js'
import { FIRST_TOOL_METER, FIRST_UNIT_METER, METERS, type Meter, NO_METER } from '../prices/meters.js'
import { type Label, labelsWith, tagColumn } from './export-names.js'
import { foldedRow, IS_FOLDED, OF_FOLDS, OF_JOB, type Staged, stagedParams } from './staged-groups.js'

/**
 * The rows of a FOCUS file, computed from staged groups. A group of calls passes its cost through at a unit price of 1
 * USD; tokens that the price book priced are metered at their price.
 */

/** Texts of a meter: SkuMeter, slug in ids, and the details of its price. */
const SHOWN: Readonly<
  Record<Meter, readonly [skuMeter: string, slug: string, direction?: string, cacheAction?: string]>
> = {
  input: ['Input Tokens', 'input', 'Input', 'Uncached'],
  output: ['Output Tokens', 'output', 'Output'],
  cache_read: ['Cache Read Tokens', 'cache-read', 'Input', 'Read'],
  cache_write: ['Cache Write Tokens', 'cache-write', 'Input', 'Write'],
  cache_write_1h: ['Cache Write 1 Hour Tokens', 'cache-write-1h', 'Input', 'Write'],
  reasoning: ['Reasoning Tokens', 'reasoning', 'Output'],
  audio_input: ['Audio Input Tokens', 'audio-input', 'Input', 'Uncached'],
  audio_output: ['Audio Output Tokens', 'audio-output', 'Output'],
  audio_cache_read: ['Audio Cache Read Tokens', 'audio-cache-read', 'Input', 'Read'],
  image_input: ['Image Input Tokens', 'image-input', 'Input', 'Uncached'],
  image_output: ['Image Output Tokens', 'image-output', 'Output'],
  image_cache_read: ['Image Cache Read Tokens', 'image-cache-read', 'Input', 'Read'],
  web_search: ['Web Searches', 'web-search'],
  file_search: ['File Searches', 'file-search'],
  code_execution: ['Code Executions', 'code-execution'],
  seconds: ['Seconds', 'seconds'],
  images: ['Images', 'images'],
  characters: ['Characters', 'characters'],
  pages: ['Pages', 'pages'],
  requests: ['Requests', 'requests'],
  search_units: ['Search Units', 'search-units'],
  documents: ['Documents', 'documents'],
  container_minutes: ['Container Minutes', 'container-minutes'],
}

const isUnit = (meter: Meter): meter is BilledUnit => BILLED_UNITS.some((unit) => unit === meter)

/** SQL array of a text per meter, indexed by the meter's number. */
const byMeter = (passed: string, textOf: (meter: Meter) => string): string =>
  `[${[passed, ...METERS.map(textOf)].map((text) => `'${text}'`).join(', ')}][meter + 1]`

const DETAILS = byMeter('', (meter) => {
  const [, , direction, cacheAction] = SHOWN[meter]
  if (direction === undefined) return ''
  const action = cacheAction === undefined ? '' : `,"x_TokenCacheAction":"${cacheAction}"`
  return `,"x_TokenDirection":"${direction}"${action}`
})

/** Values that are the same in every row. */
export interface FocusConstants {
  readonly tenantId: string
  /** Display name of the tenant. */
  readonly tenantName: string
  /** The party that charges the owners. */
  readonly issuer: string
  /** Product names of providers where they differ from `<provider> API`. */
  readonly products: Readonly<Record<string, string>>
  /** Tags by which rows are grouped, in the order of the grain. */
  readonly tags: readonly TagField[]
  /** Whether filters were dropped, so that the rows are those of a larger group. */
  readonly isWidened: boolean
}

const IS_PASSED = `meter = ${NO_METER}`
const IS_TOOL = `meter BETWEEN ${FIRST_TOOL_METER} AND ${FIRST_UNIT_METER - 1}`
const IS_UNIT = `meter >= ${FIRST_UNIT_METER}`
const UNIT = byMeter('', (meter) => (isUnit(meter) ? FOCUS_UNIT_OF[meter] : ''))
/**
 * 1 USD per unit with the cost as quantity, or the price book's price per million tokens, per call of a tool, or per
 * unit, of which millionths are counted as tokens are.
 */
const UNIT_PRICE = `multiIf(${IS_PASSED}, toDecimal128(1, 18), ${IS_TOOL}, unit_price,
                    unit_price * toDecimal128(1000000, 0))`
const SKU_ID = `concat(provider, if(served_model = '', '', concat('/', served_model)),
                ${byMeter('', (meter) => `/${SHOWN[meter][1]}`)})`
const OWNER = "nullIf(owner, '')"
/** The member of a tag, empty for rows without it. The key is written in hex, so that it is never read as SQL. */
const member = (key: string, column: string): string =>
  `if(${column} = '', '',
   concat(unhex('${Buffer.from(`${JSON.stringify(key)}:`).toString('hex')}'), toJSONString(toString(${column}))))`
/** A declared tag has its key, in lower case; unless another member has it. */
const keyOf = (tag: TagField): string => (['owner', 'service'].includes(keyOfTagField(tag)) ? tag : keyOfTagField(tag))
const tagsSql = (tags: readonly TagField[]): string => {
  const members = [member('owner', 'owner'), member('service', 'service')]
  const all = [...members, ...tags.map((tag, i) => member(keyOf(tag), tagColumn(i)))]
  return `nullIf(concat('{', arrayStringConcat(arrayFilter(one -> one != '', [${all.join(', ')}]), ','), '}'), '{}')`
}

type Instants = (date: string) => string

/** The SQL expression of each standard and custom column. */
const expressions = (instant: Instants, tags: readonly TagField[]): Readonly<Record<string, string>> => ({
  BilledCost: 'cost',
  BillingAccountId: '{tenant:String}',
  BillingAccountName: "nullIf({tenant_name:String}, '')",
  BillingCurrency: "'USD'",
  BillingPeriodEnd: instant('addMonths(month, 1)'),
  BillingPeriodStart: instant('month'),
  ChargeCategory: "'Usage'",
  ChargeClass: 'CAST(NULL AS Nullable(String))',
  ChargeDescription: `concat('Attributed AI inference: ', provider,
                      if(served_model = '', '', concat(' ', served_model)),
    ${byMeter('', (meter) => ` ${SHOWN[meter][0].toLowerCase()}`)},
    if(owner = '', '', concat(', owner ', owner)), if(service = '', '', concat(', service ', service)))`,
  ChargeFrequency: "'Usage-Based'",
  ChargePeriodEnd: instant('charge_end'),
  ChargePeriodStart: instant('charge_start'),
  ConsumedQuantity: `CAST(toDecimal128(consumed, 6) * if(${IS_UNIT}, toDecimal128('0.000001', 6), toDecimal128(1, 6))
    AS Decimal(38, 6))`,
  ConsumedUnit: `multiIf(${IS_UNIT}, ${UNIT}, is_counted AND NOT (${IS_TOOL}), 'Tokens', 'Requests')`,
  ContractedCost: 'cost',
  ContractedUnitPrice: UNIT_PRICE,
  EffectiveCost: 'cost',
  HostProviderName: 'provider',
  InvoiceIssuerName: '{issuer:String}',
  ListCost: 'cost',
  ListUnitPrice: UNIT_PRICE,
  PricingCategory: `if(${IS_PASSED}, 'Other', 'Standard')`,
  PricingQuantity: `multiIf(${IS_PASSED}, cost, ${IS_TOOL}, CAST(toDecimal128(tokens, 0) AS Decimal(38, 18)),
    CAST(toDecimal128(tokens, 0) * toDecimal128('0.000001', 6) AS Decimal(38, 18)))`,
  PricingUnit: `multiIf(${IS_PASSED}, 'USD', ${IS_TOOL}, 'Requests', ${IS_UNIT}, ${UNIT}, '1000000 Tokens')`,
  // Of whom the owners buy, and who made it: FOCUS 1.2, origination of cost data, of a managed service provider.
  ProviderName: '{issuer:String}',
  PublisherName: 'provider',
  RegionId: "nullIf(region, '')",
  RegionName: "nullIf(region, '')",
  ServiceCategory: "'AI and Machine Learning'",
  ServiceName: "transform(provider, {providers:Array(String)}, {products:Array(String)}, concat(provider, ' API'))",
  ServiceProviderName: 'provider',
  ServiceSubcategory: "'Generative AI'",
  SkuId: SKU_ID,
  SkuMeter: byMeter('Attributed Inference', (meter) => SHOWN[meter][0]),
  SkuPriceDetails: `if(served_model = '', NULL, concat('{"x_ModelId":', toJSONString(served_model), ${DETAILS}, '}'))`,
  SkuPriceId: `concat(${SKU_ID}, '/', if(${IS_PASSED}, 'pass-through', price))`,
  SubAccountId: OWNER,
  SubAccountName: OWNER,
  SubAccountType: "if(owner = '', NULL, 'Owner')",
  Tags: tagsSql(tags),
  x_CarbonDioxideEquivalentGrams: 'if(carbon_known = 0, NULL, carbon_gco2e)',
  x_CarbonIsLowerBound: 'CAST(if(carbon_known = 0, NULL, carbon_known < invocations) AS Nullable(Bool))',
  x_CohortSuppressed: 'is_folded',
  x_CostBasis: "nullIf(cost_basis, '')",
  x_EnergyHasClassEstimates: 'CAST(if(energy_known = 0, NULL, energy_estimated > 0) AS Nullable(Bool))',
  x_EnergyIsLowerBound: 'CAST(if(energy_known = 0, NULL, energy_known < invocations) AS Nullable(Bool))',
  x_EnergyWattHours: 'if(energy_known = 0, NULL, energy_wh)',
  x_IngestionLayer: "nullIf(ingestion_layer, '')",
  x_InputTokenCount:
    'if(has_calls AND input_counted = invocations, CAST(input_tokens AS Nullable(Decimal(38, 0))), NULL)',
  x_InvocationCount: 'if(has_calls, CAST(invocations AS Nullable(Decimal(38, 0))), NULL)',
  x_MinimumConfidence: 'confidence',
  x_OutputState: "nullIf(output_state, '')",
  x_OutputTokenCount:
    'if(has_calls AND output_counted = invocations, CAST(output_tokens AS Nullable(Decimal(38, 0))), NULL)',
  x_PathwayCategory: "nullIf(pathway_category, '')",
  x_RequestedModelName: "nullIf(requested_model, '')",
  x_Scope: '{scope:String}',
  x_StageOrigin: "nullIf(stage_origin, '')",
})

// A row of other units that has the calls says whether these state tokens, too.
const IS_COUNTED = `${IS_PASSED} OR (${IS_UNIT} AND has_calls)
  ? input_counted = invocations AND output_counted = invocations : true`
const CONSUMED = `${IS_PASSED} ? input_tokens + output_tokens : tokens`
/** In a row of several meters: calls of tools and other units are no tokens. */
const COUNTED_TOKENS = `multiIf(${IS_PASSED}, input_tokens + output_tokens, ${IS_TOOL} OR ${IS_UNIT}, 0, tokens)`

const shownGroups = (labels: readonly Label[]): string => `
  SELECT month, charge_start, charge_end, ${labels.join(', ')}, meter, price, unit_price, cost, tokens,
    (${IS_COUNTED}) AS is_counted, is_counted OR ${IS_UNIT} ? (${CONSUMED}) : invocations AS consumed,
    invocations, input_tokens, input_counted, output_tokens, output_counted,
    energy_wh, energy_known, energy_estimated, carbon_gco2e, carbon_known, has_calls, confidence, is_thin AS is_folded,
    toUInt8(0) AS kept
  FROM ${EXPORT_GROUPS} WHERE ${OF_JOB} AND NOT (${IS_FOLDED})`

/** Sums of the groups that fold into one row. A row that keeps no day covers the days of the period in its month. */
const foldedGroups = (labels: readonly Label[]): string => `
  SELECT f_month AS month,
    if(f_charge_start = toDate(0), greatest(f_month, toDate({from:String})), f_charge_start) AS charge_start,
    if(f_charge_start = toDate(0), least(addMonths(f_month, 1), toDate({to:String})), f_charge_start + 1) AS charge_end,
    ${labels.map((name) => `f_${name} AS ${name}`).join(', ')}, toUInt8(${NO_METER}) AS meter, f_price AS price,
    toDecimal128(1, 18) AS unit_price,
    f_cost AS cost, toUInt64(0) AS tokens, f_counted AS is_counted, f_counted ? f_tokens : f_calls AS consumed,
    f_calls AS invocations, f_input AS input_tokens, f_input_counted AS input_counted,
    f_output AS output_tokens, f_output_counted AS output_counted,
    f_energy AS energy_wh, f_energy_known AS energy_known, f_energy_estimated AS energy_estimated,
    f_carbon AS carbon_gco2e, f_carbon_known AS carbon_known,
    f_has_calls AS has_calls, f_confidence AS confidence, true AS is_folded, f_kept AS kept
  FROM (
    SELECT ${foldedRow(labels)
      .map((name) => `f_${name}`)
      .join(', ')}, sum(cost) AS f_cost, min(${IS_COUNTED}) = 1 AS f_counted, sum(${COUNTED_TOKENS}) AS f_tokens,
      sum(invocations) AS f_calls, sum(input_tokens) AS f_input, sum(input_counted) AS f_input_counted,
      sum(output_tokens) AS f_output, sum(output_counted) AS f_output_counted,
      sum(energy_wh) AS f_energy, sum(energy_known) AS f_energy_known,
      sum(energy_estimated) AS f_energy_estimated,
      sum(carbon_gco2e) AS f_carbon, sum(carbon_known) AS f_carbon_known,
      max(has_calls) AS f_has_calls, min(confidence) AS f_confidence
    FROM (
      SELECT key, meter, cost, tokens, invocations, input_tokens, input_counted, output_tokens, output_counted,
        energy_wh, energy_known, energy_estimated, carbon_gco2e, carbon_known, has_calls, confidence
      FROM ${EXPORT_GROUPS} WHERE ${OF_JOB} AND ${IS_FOLDED}
    ) AS grouped
    INNER JOIN (
      SELECT key AS f_key, ${foldedRow(labels)
        .map((name) => `${name} AS f_${name}`)
        .join(', ')} FROM ${EXPORT_FOLDS} WHERE ${OF_FOLDS}
    ) AS folded ON f_key = key
    GROUP BY ${foldedRow(labels)
      .map((name) => `f_${name}`)
      .join(', ')})`

/** Unique per row, so that the order is always the same. */
const orderOf = (labels: readonly Label[]): string => `charge_start, ${labels.join(', ')}, meter, price, kept`

export interface FocusRowsQuestion extends Staged {
  /** Which rows: shown groups, folded groups, or both, month by month. */
  readonly of: 'shown' | 'folded' | 'all'
  /** In output order. */
  readonly columns: readonly string[]
  /** First day of the period, and the day after its last, YYYY-MM-DD. */
  readonly from: string
  readonly to: string
  readonly constants: FocusConstants
}

/** Columns with text from outside at the beginning of a cell. */
const TEXTS: ReadonlySet<string> = new Set([
  ...['BillingAccountName', 'HostProviderName', 'InvoiceIssuerName', 'ProviderName', 'PublisherName', 'RegionId'],
  ...['RegionName', 'ServiceName', 'ServiceProviderName', 'SkuId', 'SkuPriceId', 'SubAccountId', 'SubAccountName'],
  'x_RequestedModelName',
])

/** `neutralised` of `internal/text/csv.ts`, in SQL. */
export const neutralisedSql = (text: string): string =>
  `if(match(${text}, '${FORMULA.replaceAll(/['\\]/g, '\\$&')}'), concat('\\'', ${text}), ${text})`

const csvInstant: Instants = (date) => `concat(toString(${date}), 'T00:00:00Z')`
const parquetInstant: Instants = (date) => `toDateTime64(${date}, 3, 'UTC')`

function groupsOf(of: FocusRowsQuestion['of'], labels: readonly Label[]) {
  const [shown, folded, order] = [shownGroups(labels), foldedGroups(labels), orderOf(labels)]
  if (of === 'all') return { groups: `${shown} UNION ALL ${folded}`, order: `month, is_folded, ${order}` }
  return { groups: of === 'shown' ? shown : folded, order }
}

/**
 * Streams rows as serialized by ClickHouse: CSV lines (RFC 4180) without a header, compressed as one gzip member (RFC
 * 1952), or nothing if there are no rows; or a Parquet file. The same rows always give the same bytes.
 *
 * @throws also from the stream, when ClickHouse fails midway
 */
export async function streamFocusRows(
  store: ClickHouseClient,
  question: FocusRowsQuestion,
  format: 'csv' | 'parquet',
  signal: AbortSignal,
): Promise<Readable> {
  const { of, columns, from, to, constants } = question
  const expressionOf = expressions(format === 'csv' ? csvInstant : parquetInstant, constants.tags)
  const { groups, order } = groupsOf(of, labelsWith(constants.tags))
  const selected = columns.map((name) => {
    const expression = expressionOf[name]
    if (expression === undefined) throw new Error(`unknown column ${name}`)
    // In both formats, since files of both are joined.
    return `${TEXTS.has(name) ? neutralisedSql(expression) : expression} AS ${name}`
  })
  const result = await store.exec({
    query: `SELECT ${selected.join(',\n')} FROM (${groups}) ORDER BY ${order}
            FORMAT ${format === 'csv' ? 'CSV' : 'Parquet'}`,
    query_params: {
      ...stagedParams(question),
      from,
      to,
      tenant: constants.tenantId,
      tenant_name: constants.tenantName,
      issuer: constants.issuer,
      scope: constants.isWidened ? 'parent' : 'requested',
      providers: Object.keys(constants.products),
      products: Object.values(constants.products),
    },
    abort_signal: signal,
    clickhouse_settings: {
      readonly: '2',
      format_csv_null_representation: '',
      output_format_csv_crlf_end_of_line: 1,
      output_format_json_escape_forward_slashes: 0,
      // Readers that guess types take a column of whole amounts for integers, and that of another file for floats.
      output_format_decimal_trailing_zeros: 1,
      ...(format === 'csv' && { ...IN_LARGE_BLOCKS, ...PACKED }),
    },
    ...(format === 'csv' && { http_headers: { 'Accept-Encoding': 'gzip' }, decompress_response_stream: false }),
  })
  return result.stream as Readable
}

/**
 * Rows within a block are sorted at once, but blocks are merged row by row, which takes five times as long. So a block
 * should hold a whole slice, as long as that is no larger than what two threads would buffer by default.
 */
const IN_LARGE_BLOCKS = {
  max_threads: 1,
  max_block_size: '131072',
  preferred_block_size_bytes: '0',
  output_format_parallel_formatting: 0,
} as const

/** The lines are highly repetitive: a higher level takes longer and hardly compresses better. */
const PACKED = { enable_http_compression: 1, http_zlib_compression_level: '2' } as const
