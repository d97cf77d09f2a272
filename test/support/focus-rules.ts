/**
 * Checks the rows of a file against the rules of FOCUS Cost and Usage, taken from the column table of the standard.
 * Shares only that table with the code that writes the file.
 */
import { readFileSync } from 'node:fs'
import { FOCUS_UNIT_OF } from '../../internal/text/call-words.js'

interface StandardColumn {
  readonly name: string
  readonly type: 'string' | 'decimal' | 'datetime' | 'json'
  readonly featureLevel: 'mandatory' | 'conditional' | 'recommended'
  readonly nullable: boolean
  readonly capability: string | null
  readonly valueFormat: string | null
  readonly minimum: number | null
  readonly allowedValues: readonly string[] | null
  readonly introduced: string
}

const TABLE = JSON.parse(
  readFileSync(new URL('../../internal/exports/focus/columns.data.json', import.meta.url), 'utf8'),
) as {
  readonly columns: readonly StandardColumn[]
  readonly formats: {
    readonly dateTime: { readonly pattern: string }
    readonly numeric: { readonly pattern: string }
    readonly customColumn: { readonly pattern: string; readonly maxLength: number }
    readonly unit: Readonly<Record<'dataSize' | 'time' | 'count', readonly string[]>>
  }
  readonly skuPriceDetailsProperties: Readonly<Record<string, Readonly<Record<string, string>>>>
  readonly serviceSubcategoryParents: Readonly<Record<string, string>>
}

/** The capabilities of a ledger of attributed calls: columns that depend on them are required. */
const CAPABILITIES = [
  'MULTIPLE_PRICING_CATEGORIES_SUPPORTED',
  'MULTIPLE_SUB_ACCOUNT_TYPES_SUPPORTED',
  'NEGOTIATED_PRICING_SUPPORTED',
  'PUBLIC_PRICE_LIST_SUPPORTED',
  'SUB_ACCOUNT_SUPPORTED',
  'TAGGING_SUPPORTED',
  'UNIT_PRICING_SUPPORTED',
  'USAGE_MEASUREMENT_SUPPORTED',
]
/** The provider columns of FOCUS 1.2, which later versions replaced. */
const ONLY_BEFORE_14 = ['ProviderName', 'PublisherName']

export type FocusRow = Readonly<Record<string, string>>

/**
 * A CSV file (RFC 4180) as its header and rows; an empty field means null. Amounts, which are not quoted, are without the
 * zeros at their ends.
 */
export function parseCsv(text: string): { readonly header: readonly string[]; readonly rows: readonly FocusRow[] } {
  const lines: string[][] = []
  let fields: string[] = []
  const field = /(?:"((?:[^"]|"")*)"|([^",\r\n]*))(,|\r\n|$)/gy
  for (let match = field.exec(text); match !== null && match.index < text.length; match = field.exec(text)) {
    fields.push(match[1]?.replaceAll('""', '"') ?? match[2]?.replace(/(\.\d*?)0+$/, '$1').replace(/\.$/, '') ?? '')
    if (match[3] === ',') continue
    lines.push(fields)
    fields = []
  }
  const [header = [], ...rows] = lines
  return { header, rows: rows.map((row) => Object.fromEntries(header.map((name, i) => [name, row[i] ?? '']))) }
}

/** Whole steps of 1e-18, so that products compare exactly. */
export function exact(text: string): bigint {
  const match = /^(-?)(\d+)(?:\.(\d{1,18}))?$/.exec(text)
  if (match === null) throw new Error(`not a plain decimal: ${text}`)
  const [, sign, whole, fraction = ''] = match
  return BigInt(`${sign}${whole}${fraction.padEnd(18, '0')}`)
}
const ONE = 10n ** 18n

/** @returns the violations in a file; empty when it satisfies every rule */
export function focusFaults(header: readonly string[], rows: readonly FocusRow[], version: '1.4' | '1.2'): string[] {
  const faults: string[] = [...headerFaults(header, version)]
  for (const [i, row] of rows.entries()) {
    for (const fault of rowFaults(row, version)) faults.push(`row ${i}: ${fault}`)
  }
  return [...faults, ...relationFaults(rows)]
}

function headerFaults(header: readonly string[], version: '1.4' | '1.2'): string[] {
  const isIn = ({ introduced }: StandardColumn): boolean => Number(introduced) <= Number(version)
  const must = TABLE.columns
    .filter(isIn)
    .filter(({ featureLevel, capability }) => {
      return featureLevel === 'mandatory' || capability?.split(' + ').every((one) => CAPABILITIES.includes(one))
    })
    .map(({ name }) => name)
  const missing = [...must, ...(version === '1.2' ? ONLY_BEFORE_14 : [])].filter((name) => !header.includes(name))
  const known = new Set([
    ...TABLE.columns.filter(isIn).map(({ name }) => name),
    ...(version === '1.2' ? ONLY_BEFORE_14 : []),
  ])
  const { pattern, maxLength } = TABLE.formats.customColumn
  const strange = header.filter(
    (name) => !known.has(name) && (!new RegExp(pattern).test(name) || name.length > maxLength),
  )
  const own = header.filter((name) => known.has(name))
  const custom = header.filter((name) => !known.has(name))
  const isOrdered = JSON.stringify(header) === JSON.stringify([...own.toSorted(), ...custom.toSorted()])
  return [
    ...missing.map((name) => `${name} is missing`),
    ...strange.map((name) => `${name} is neither the standard's nor a custom column`),
    ...(isOrdered ? [] : ['columns are not in the order of the standard']),
    ...(new Set(header).size === header.length ? [] : ['a column is repeated']),
  ]
}

function* rowFaults(row: FocusRow, version: '1.4' | '1.2'): Generator<string> {
  for (const column of TABLE.columns) {
    const value = row[column.name]
    if (value === undefined) continue
    if (value === '') {
      if (!column.nullable) yield `${column.name} is null`
      continue
    }
    if (/^null$|^n\/a$|not applicable/i.test(value)) yield `${column.name} has a placeholder instead of null`
    if (column.allowedValues !== null && !column.allowedValues.includes(value)) yield `${column.name} is ${value}`
    const fault = formatFault(column, value)
    if (fault !== undefined) yield `${column.name} ${fault}: ${value}`
  }
  yield* usageFaults(row)
  const details = row['SkuPriceDetails']
  const defined = TABLE.skuPriceDetailsProperties['1.4'] ?? {}
  if (details !== undefined && details !== '') {
    for (const key of Object.keys(JSON.parse(details) as object)) {
      if (!(key in defined) && !/^x_[A-Z][A-Za-z0-9]*$/.test(key)) yield `SkuPriceDetails has ${key}`
    }
  }
  if (version === '1.2') {
    for (const name of ONLY_BEFORE_14) if (row[name] === '') yield `${name} is null`
  }
}

function formatFault({ type, valueFormat, minimum }: StandardColumn, value: string): string | undefined {
  if (type === 'datetime')
    return new RegExp(TABLE.formats.dateTime.pattern).test(value) ? undefined : 'is not a date and time'
  if (type === 'decimal') {
    if (!new RegExp(TABLE.formats.numeric.pattern).test(value)) return 'is not a number'
    return minimum !== null && exact(value) < BigInt(minimum) ? 'is too small' : undefined
  }
  if (valueFormat === 'iso-4217') return /^[A-Z]{3}$/.test(value) ? undefined : 'is not a currency'
  if (valueFormat === 'unit') return isUnit(value) ? undefined : 'is not a unit'
  if (valueFormat === 'key-value-json') {
    const object = JSON.parse(value) as Record<string, unknown>
    const isFlat = Object.values(object).every((one) => one === null || typeof one !== 'object')
    return isFlat && !Array.isArray(object) && Object.keys(object).length > 0
      ? undefined
      : 'is not an object of plain values'
  }
  return undefined
}

/** The standard recommends a list of count nouns (FOCUS 1.4, unit format): for what it lacks, others are allowed. */
const OWN_UNITS: ReadonlySet<string> = new Set(Object.values(FOCUS_UNIT_OF))

function isUnit(text: string): boolean {
  if (OWN_UNITS.has(text)) return true
  const { dataSize, time, count } = TABLE.formats.unit
  const singular = [...dataSize, ...time, ...count]
  const plurals = [...dataSize, ...[...time, ...count].map((unit) => `${unit}s`)]
  const [, number, unit] = /^(?:(\d+) )?(.+)$/.exec(text) ?? []
  if (number !== undefined || unit === undefined) return plurals.includes(unit ?? '')
  // The unit of charges passed through at cost is a currency: FOCUS 1.4 has no list of currency units.
  return plurals.includes(unit) || unit === 'USD' || (singular.includes(unit.split('-')[0] ?? '') && unit.includes('-'))
}

/** Rules for columns of a priced usage row that is not a correction. */
function* usageFaults(row: FocusRow): Generator<string> {
  const has = (name: string): boolean => row[name] !== undefined && row[name] !== ''
  const both = (one: string, other: string): boolean =>
    row[one] === undefined || row[other] === undefined || has(one) === has(other)
  const amount = (name: string): bigint => exact(row[name] ?? '')

  if (row['ChargeCategory'] !== 'Usage') yield 'is not usage'
  for (const name of [
    'SkuId',
    'SkuPriceId',
    'PricingQuantity',
    'PricingCategory',
    'ConsumedQuantity',
    'ListUnitPrice',
    'ContractedUnitPrice',
  ]) {
    if (row[name] === '') yield `${name} is null on usage`
  }
  for (const [one, other] of [
    ['ConsumedQuantity', 'ConsumedUnit'],
    ['PricingQuantity', 'PricingUnit'],
    ['SubAccountId', 'SubAccountName'],
    ['SubAccountId', 'SubAccountType'],
    ['SkuId', 'SkuMeter'],
  ] as const) {
    if (!both(one, other)) yield `${one} and ${other} are not null together`
  }
  const quantity = amount('PricingQuantity')
  if (amount('ListUnitPrice') * quantity !== amount('ListCost') * ONE)
    yield 'list price times quantity is not the list cost'
  if (amount('ContractedUnitPrice') * quantity !== amount('ContractedCost') * ONE) {
    yield 'contracted price times quantity is not the contracted cost'
  }
  if (row['BilledCost'] !== row['ContractedCost'] || row['EffectiveCost'] !== row['BilledCost']) yield 'costs differ'
  if (TABLE.serviceSubcategoryParents[row['ServiceSubcategory'] ?? ''] !== row['ServiceCategory'])
    yield 'has a subcategory of another category'
  const [start = '', end = ''] = [row['ChargePeriodStart'], row['ChargePeriodEnd']]
  if (start >= end) yield 'has an empty charge period'
  if (start < (row['BillingPeriodStart'] ?? '') || end > (row['BillingPeriodEnd'] ?? ''))
    yield 'is charged outside of its billing period'
  if (!/-01T00:00:00Z$/.test(row['BillingPeriodStart'] ?? '')) yield 'has a billing period that is not a month'
}

/** Rules across rows: columns that are determined by the value of another column. */
function relationFaults(rows: readonly FocusRow[]): string[] {
  const faults: string[] = []
  const fixes = (one: string, others: readonly string[]): void => {
    for (const other of others) {
      const seen = new Map<string, string>()
      for (const row of rows) {
        const [key, value] = [row[one], row[other]]
        if (key === undefined || value === undefined || key === '') continue
        if (seen.has(key) && seen.get(key) !== value) faults.push(`${one} ${key} has several ${other}`)
        seen.set(key, value)
      }
    }
  }
  fixes('ServiceName', ['ServiceCategory'])
  fixes('SkuPriceId', ['SkuId', 'ListUnitPrice', 'PricingUnit', 'PricingCategory'])
  fixes('SkuId', ['SkuMeter'])
  fixes('BillingAccountId', ['BillingAccountName'])
  fixes('SubAccountId', ['SubAccountName'])
  return faults
}

export const sumOf = (rows: readonly FocusRow[], column: string): bigint =>
  rows.reduce((total, row) => total + (row[column] === '' ? 0n : exact(row[column] ?? '0')), 0n)
