import { z } from 'zod'
import { DIMENSION_NAMES, DIMENSIONS, type DimensionName, type GroupField } from '../../filters/report-dimensions.js'
import { DIMENSIONS_MAX, foldKey, isTagField, keyOfTagField, tagFieldOf } from '../../records/dimensions.js'
import type { SpendFilter } from '../../store/queries/reports/spend.js'
import { DECIMAL_TEXT, name } from '../../text/plain-text.js'
import { parseQuantity, type Quantity } from '../../units/quantity.js'
import { readZone } from '../../units/time-zone.js'
import { PERIODS, type PeriodKind } from './budget-period.js'

/** A ceiling on the cost of calls in a period. */

/** Budgets per tenant. */
export const BUDGETS_MAX = 500

/** Percent of the ceiling at which `budget.threshold.crossed` is emitted, ascending. */
export const STANDARD_THRESHOLDS = [75, 100, 150] as const
export type StandardThreshold = (typeof STANDARD_THRESHOLDS)[number]
export const isStandard = (percent: number): percent is StandardThreshold =>
  STANDARD_THRESHOLDS.some((standard) => standard === percent)

const THRESHOLDS_MAX = 12
const GROUP_CEILINGS_MAX = 200
const PERCENT_MAX = 1_000

/** A budget in the bucket `budgets`, under its id. */
export interface StoredBudget {
  readonly id: string
  readonly tenant_id: string
  readonly name: string
  /** Selects calls that match all its fields; an empty filter selects all calls. */
  readonly filter: SpendFilter
  /** Decimal text, above 0. */
  readonly ceiling_usd: string
  readonly period: PeriodKind
  /** Canonical name of the tz database. Absent: the tenant's time zone. */
  readonly time_zone?: string
  /** The ceiling applies to each value of this dimension on its own. */
  readonly per?: GroupField
  /** Decimal texts, above 0, by value of `per`: groups with a ceiling of their own. */
  readonly group_ceilings_usd?: Readonly<Record<string, string>>
  /** Percent, ascending. Absent: the standard ones. */
  readonly thresholds?: readonly number[]
  readonly created_at: string
  /** When its rule last changed (all but its name); absent if it has not. */
  readonly changed_at?: string
}

/** A budget with its defaults. */
export interface Budget {
  readonly id: string
  readonly name: string
  readonly filter: SpendFilter
  readonly per: GroupField | undefined
  readonly period: PeriodKind
  readonly zone: string
  /** Decimal text as it was stated. */
  readonly ceilingText: string
  readonly ceiling: Quantity<'USD'>
  /** Decimal texts by value of `per`. */
  readonly groupCeilings: Readonly<Record<string, string>>
  /** Percent, ascending. */
  readonly thresholds: readonly number[]
  /** Since when its rule applies, milliseconds since the epoch. */
  readonly countsSinceMs: number
}

/** @param tenantZone applies to budgets that state no time zone */
export function readBudget(stored: StoredBudget, tenantZone: string): Budget {
  return {
    id: stored.id,
    name: stored.name,
    filter: stored.filter,
    per: stored.per,
    period: stored.period,
    zone: stored.time_zone ?? readZone(tenantZone) ?? 'UTC',
    ...readCeiling(stored.ceiling_usd),
    groupCeilings: stored.group_ceilings_usd ?? {},
    thresholds: stored.thresholds ?? STANDARD_THRESHOLDS,
    countsSinceMs: Date.parse(stored.changed_at ?? stored.created_at),
  }
}

function readCeiling(ceilingText: string): Pick<Budget, 'ceilingText' | 'ceiling'> {
  const ceiling = parseQuantity<'USD'>(ceilingText)
  if (ceiling === undefined) throw new Error('a stored budget has no valid ceiling')
  return { ceilingText, ceiling }
}

/** A budget as it holds for one of its groups, which may have a ceiling of its own. */
export function budgetOfGroup<B extends Budget>(budget: B, value: string): B {
  const own = Object.hasOwn(budget.groupCeilings, value) ? budget.groupCeilings[value] : undefined
  return own === undefined ? budget : { ...budget, ...readCeiling(own) }
}

/** A value of a dimension: one of its closed list, or a name. */
function valueSchema(dimension: DimensionName): z.ZodType<string> {
  const { type } = DIMENSIONS[dimension]
  return type.kind === 'choice' ? z.enum(type.values as readonly string[]) : name()
}

type FilterShape = { readonly [D in DimensionName]: z.ZodOptional<z.ZodNullable<z.ZodType<string>>> }
const filter = z
  .strictObject({
    ...(Object.fromEntries(DIMENSION_NAMES.map((each) => [each, valueSchema(each).nullish()])) as FilterShape),
    tags: z
      .record(name(), name())
      .refine((tags) => Object.keys(tags).length <= DIMENSIONS_MAX, `must have at most ${DIMENSIONS_MAX} members`)
      .nullish()
      .meta({
        description: 'Values of tags, by key. The tenant has declared the keys (`dimensions` of its settings).',
      }),
  })
  .meta({ description: 'Selects the calls that match all given fields. Default: all calls.' })

const ceiling = () =>
  z
    .string()
    .regex(DECIMAL_TEXT)
    .refine((text) => (parseQuantity(text) ?? 0n) > 0n, 'must be above 0')

/** A dimension, or a declared tag. */
export const perField = () =>
  z.union([z.enum(DIMENSION_NAMES), z.string().regex(/^tags\./, 'must be a dimension, or tags.<key>')])

const rule = {
  filter: filter.nullish(),
  ceiling_usd: ceiling()
    .optional()
    .meta({ description: 'USD per period, above 0. With `per`: for each group.', examples: ['2500.00'] }),
  monthly_ceiling_usd: ceiling()
    .optional()
    .meta({
      description:
        'The same as `ceiling_usd` with `period` `month`. Both may be stated only if they are equal, and no ' +
        'other period.',
      examples: ['2500.00'],
    }),
  period: z
    .enum(PERIODS)
    .optional()
    .meta({ description: 'Calendar period in the time zone; weeks start on Monday.', default: 'month' }),
  time_zone: z
    .string()
    .max(64)
    .refine((text) => readZone(text) !== undefined, 'must be a name from the tz database')
    .nullish()
    .meta({
      description: "A name from the tz database. Default, and null: the tenant's `time_zone` (settings).",
      examples: ['Europe/Berlin'],
    }),
  per: perField()
    .nullish()
    .meta({
      description:
        'Applies the ceiling to each value of this dimension, or of a declared tag (`tags.<key>`), on its own, ' +
        'also to values that appear later. Calls without a value belong to no group.',
      examples: ['owner'],
    }),
  group_ceilings_usd: z
    .record(name(), ceiling())
    .refine((own) => Object.keys(own).length <= GROUP_CEILINGS_MAX, `must have at most ${GROUP_CEILINGS_MAX} members`)
    .nullish()
    .meta({
      description:
        'With `per`: ceilings of single groups, by value, in place of `ceiling_usd`. Replaced as a whole; a new ' +
        '`per` drops them. Default, and null: none.',
      examples: [{ 'team-support': '800.00' }],
    }),
  thresholds: z
    .array(z.int().min(1).max(PERCENT_MAX))
    .max(THRESHOLDS_MAX)
    .refine((all) => new Set(all).size === all.length, 'must not repeat a threshold')
    .nullish()
    .meta({
      description:
        'Percent of the ceiling. 75, 100 and 150 emit `budget.threshold.crossed`, all others ' +
        '`budget.threshold.custom`. Default, and null: 75, 100 and 150. An empty list: no events.',
      examples: [[50, 75, 90, 100]],
    }),
}

interface StatedCeiling {
  readonly ceiling_usd?: string | undefined
  readonly monthly_ceiling_usd?: string | undefined
  readonly period?: PeriodKind | undefined
}

/** Whether what a body says by `monthly_ceiling_usd` agrees with the rest of it. */
function agrees({ ceiling_usd, monthly_ceiling_usd, period }: StatedCeiling): boolean {
  if (monthly_ceiling_usd === undefined) return true
  const isSame = ceiling_usd === undefined || parseQuantity(ceiling_usd) === parseQuantity(monthly_ceiling_usd)
  return isSame && (period ?? 'month') === 'month'
}
const AGREES = {
  path: ['monthly_ceiling_usd'],
  message: 'must be the same amount as ceiling_usd, and without another period than month',
}

export const budgetFields = z
  .strictObject({ name: name(), ...rule })
  .refine(agrees, AGREES)
  .refine(({ ceiling_usd, monthly_ceiling_usd }) => ceiling_usd !== undefined || monthly_ceiling_usd !== undefined, {
    path: ['ceiling_usd'],
    message: 'is required',
  })
export type BudgetFields = z.infer<typeof budgetFields>

export const budgetChanges = z.strictObject({ name: name().optional(), ...rule }).refine(agrees, AGREES)
export type BudgetChanges = z.infer<typeof budgetChanges>

export const storedBudget = (fields: BudgetFields, id: string, tenantId: string, nowMs: number): StoredBudget => ({
  id,
  tenant_id: tenantId,
  name: fields.name,
  ...storedRule({ filter: {}, ceiling_usd: '', period: 'month' }, fields),
  created_at: new Date(nowMs).toISOString(),
})

export function changedBudget(budget: StoredBudget, changes: BudgetChanges, nowMs: number): StoredBudget {
  const { id, tenant_id, name, created_at, changed_at, ...before } = budget
  const after = storedRule(before, changes)
  const changedAt = isSameRule(before, after) ? changed_at : new Date(nowMs).toISOString()
  return {
    id,
    tenant_id,
    name: changes.name ?? name,
    ...after,
    created_at,
    ...(changedAt !== undefined && { changed_at: changedAt }),
  }
}

type StoredRule = Omit<StoredBudget, 'id' | 'tenant_id' | 'name' | 'created_at' | 'changed_at'>

/** A rule after what a body states; what it omits is unchanged. */
function storedRule(before: StoredRule, stated: Omit<BudgetChanges, 'name'>): StoredRule {
  const zone = stated.time_zone === undefined ? before.time_zone : canonicalZone(stated.time_zone)
  const per = stated.per === undefined ? before.per : foldedField(stated.per)
  const groupCeilings =
    stated.group_ceilings_usd === undefined && per === before.per
      ? before.group_ceilings_usd
      : stated.group_ceilings_usd
  const thresholds = stated.thresholds === undefined ? before.thresholds : stated.thresholds
  return {
    filter: stated.filter === undefined ? before.filter : storedFilter(stated.filter),
    ceiling_usd: stated.ceiling_usd ?? stated.monthly_ceiling_usd ?? before.ceiling_usd,
    period: stated.monthly_ceiling_usd === undefined ? (stated.period ?? before.period) : 'month',
    ...(zone !== undefined && { time_zone: zone }),
    ...(per !== undefined && { per }),
    ...(Object.keys(groupCeilings ?? {}).length > 0 && { group_ceilings_usd: { ...groupCeilings } }),
    ...(thresholds != null && { thresholds: thresholds.toSorted((one, other) => one - other) }),
  }
}

const foldedField = (per: string | null): GroupField | undefined =>
  per === null ? undefined : ((isTagField(per) ? tagFieldOf(keyOfTagField(per)) : per) as GroupField)

const canonicalZone = (zone: string | null): string | undefined => (zone === null ? undefined : readZone(zone))

const storedFilter = (stated: BudgetFields['filter']): SpendFilter => {
  const tags = Object.entries(stated?.tags ?? {}).map(([key, value]) => [foldKey(key), value] as const)
  return {
    ...Object.fromEntries(DIMENSION_NAMES.flatMap((each) => (stated?.[each] == null ? [] : [[each, stated[each]]]))),
    ...(tags.length > 0 && { tags: Object.fromEntries(tags) }),
  }
}

function isSameRule(one: StoredRule, other: StoredRule): boolean {
  const comparable = ({ filter, period, thresholds = STANDARD_THRESHOLDS, ...rest }: StoredRule) =>
    JSON.stringify([
      DIMENSION_NAMES.map((each) => filter[each] ?? null),
      sortedEntries(filter.tags ?? {}),
      period,
      String(parseQuantity(rest.ceiling_usd)),
      sortedEntries(rest.group_ceilings_usd ?? {}).map(([value, usd]) => [value, String(parseQuantity(usd))]),
      rest.time_zone,
      rest.per,
      thresholds,
    ])
  return comparable(one) === comparable(other)
}

const sortedEntries = (record: Readonly<Record<string, string>>): [string, string][] =>
  Object.entries(record).sort(([key], [otherKey]) => (key < otherKey ? -1 : 1))

/** Thresholds that an amount reaches, ascending. Exact. */
export const reachedThresholds = (
  spent: Quantity<'USD'>,
  { ceiling, thresholds }: Pick<Budget, 'ceiling' | 'thresholds'>,
): number[] => thresholds.filter((percent) => spent * 100n >= ceiling * BigInt(percent))
