import type { BudgetGroup, PeriodSpending } from 'attribution-service/sdk/api'

type Crossing = BudgetGroup['crossings'][number]

/** A threshold that is reached. */
interface Reached {
  readonly threshold: number
  /** When its event was emitted; null: it is on its way. */
  readonly at: string | null
}

/**
 * The thresholds that spend has reached: whether the event of one is already emitted is not waited for.
 *
 * @param percent of the ceiling, cut to two decimals: a whole threshold is reached from it on, exactly
 */
export const reachedOf = (crossings: readonly Crossing[], percent: string | null): readonly Reached[] =>
  crossings
    .filter(({ threshold, crossed_at: at }) => at !== null || (percent !== null && Number(percent) >= threshold))
    .map(({ threshold, crossed_at: at }) => ({ threshold, at }))

export const reachedShown = (reached: readonly Reached[]): string =>
  reached.map(({ threshold, at }) => `${threshold} %${at === null ? ' (sending)' : ''}`).join(', ') || 'none'

interface Groups {
  readonly crossed: readonly { readonly threshold: number; readonly count: number }[]
  /** Those that cost most. */
  readonly top: readonly Pick<BudgetGroup, 'percent' | 'crossings'>[]
}

/** By threshold, how many groups have reached it: at least those whose events are emitted. */
export const groupsReached = ({ crossed, top }: Groups): Groups['crossed'] =>
  crossed.map(({ threshold, count }) => {
    const ofTop = top.filter(({ crossings, percent }) =>
      reachedOf(crossings, percent).some((each) => each.threshold === threshold),
    )
    return { threshold, count: Math.max(count, ofTop.length) }
  })

/** Whether an event is on its way, so that the figures change soon. */
export const isSending = ({ crossings, percent }: Pick<PeriodSpending, 'crossings' | 'percent'>): boolean =>
  reachedOf(crossings ?? [], percent).some(({ at }) => at === null)
