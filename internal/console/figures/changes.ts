import type {
  ChangeEffects,
  FoldedChange,
  MostOfChange,
  OtherChanges,
  Mover as ShownMover,
  SuppressedFilters,
  WholeChange,
} from 'attribution-service/sdk/api'
import { formatQuantity, parseSum, plus } from '../../units/quantity.js'
import type { Filter } from './filters.js'
import { DEFAULT_POOL } from './usage.js'

/** The answer of `GET /api/v1/reports/changes`. */
export interface Changes {
  readonly suppressed?: SuppressedFilters
  readonly whole: WholeChange
  readonly increases: readonly Mover[]
  readonly decreases: readonly Mover[]
  readonly others: OtherChanges
  readonly rest: FoldedChange | null
  readonly explains_most: (MostOfChange & { readonly [dimension: string]: unknown }) | null
  readonly report: {
    readonly from: string
    readonly to: string
    readonly group_by: readonly string[]
    readonly compared_with: { readonly from: string; readonly to: string }
    readonly min_cohort: number
    readonly as_of: string
  }
}

/** Dimensions of declared tags are members, too. */
export type Mover = ShownMover & { readonly [dimension: string]: unknown }

/** By what the changes can be split, the default first. */
export const CHANGE_GROUPS: Readonly<Record<string, readonly string[]>> = {
  'service,served_model,pathway_category': ['service', 'model', 'kind of caller'],
  'owner,service': ['owner', 'service'],
  service: ['service'],
  served_model: ['model'],
  'provider,served_model': ['provider', 'model'],
  pathway_category: ['kind of caller'],
  owner: ['owner'],
  provider: ['provider'],
  credential: ['credential'],
}
export const DEFAULT_CHANGE_GROUPS = 'service,served_model,pathway_category'

/** A line of the table: of the parts that add up to the whole. */
export interface Line {
  readonly kind: 'mover' | 'others' | 'rest'
  readonly mover?: Mover
  readonly change_usd: string
  readonly effects: ChangeEffects
  readonly beforeUsd: string
  readonly nowUsd: string
}

/** Increases, the largest first; decreases, the largest last; then the groups without a name. */
export const linesOf = ({ increases, decreases, others, rest }: Changes): readonly Line[] => [
  ...increases.map((mover) => ({ kind: 'mover' as const, mover, ...partOf(mover) })),
  ...decreases.toReversed().map((mover) => ({ kind: 'mover' as const, mover, ...partOf(mover) })),
  ...(others.groups === 0 ? [] : [{ kind: 'others' as const, ...partOf(others) }]),
  ...(rest === null ? [] : [{ kind: 'rest' as const, ...partOf(rest) }]),
]

type Part = Pick<OtherChanges, 'change_usd' | 'effects' | 'now' | 'before'>
const partOf = ({ change_usd, effects, now, before }: Part) => ({
  change_usd,
  effects,
  beforeUsd: before.cost_usd,
  nowUsd: now.cost_usd,
})

/** What the last line is: of groups that are not named. */
export const restLabel = ({ rest }: Pick<Changes, 'rest'>): string =>
  rest?.has_unread_groups === true ? 'groups that moved less, and small groups' : 'small groups'

/** What selects the calls of a mover, among those that the filters of the page select. */
export const filtersOfMover = (
  mover: Mover,
  groupBy: readonly string[],
  ofPage: readonly Filter[],
): readonly Filter[] => [
  ...ofPage,
  ...groupBy.map((field) => ({ field, operator: 'eq' as const, value: String(mover[field] ?? '') })),
]

/** Whether a label of a mover is nobody's: a service without an owner has a name all the same. */
export const isNobody = (mover: Mover, field: string): boolean =>
  mover.unattributed && (field === 'owner' || (field === 'service' && mover['service'] === DEFAULT_POOL))

/** The sum of the volumes of the parts: that of all calls, and the mix of the parts. */
export const volumeOfParts = ({ whole: { effects } }: Pick<Changes, 'whole'>): string =>
  formatQuantity(plus(parseSum<'USD'>(effects.volume_usd), parseSum<'USD'>(effects.mix_usd)))
