import { foldLeaves } from '../cohorts/fold.js'
import { peopleOf } from '../cohorts/people.js'
import { type ResolvedCost, weightSteps, weightsOf } from './weights.js'

/** The window whose cost decides: the last 30 days. */
export const WINDOW_MS = 30 * 24 * 60 * 60 * 1000
/** Weights are worked out once an hour, for its end; a batch that lands late has landed five minutes later. */
const EVERY_MS = 60 * 60 * 1000
const SETTLED_MS = 5 * 60 * 1000
/** Services and owners that have a weight of their own; the share of the others stays in the pool. */
export const WEIGHTS_MAX = 500
/** Tenants whose last weights are known to be there. */
const KEPT_MAX = 10_000
/** After a failure a tenant's weights are left alone for so long: batches do not wait for them again and again. */
const RETRY_MS = 5 * 60 * 1000

/** What calls cost, and who made them. */
export interface CostOfPeople extends ResolvedCost {
  /** Hashes of identities in any order; of many people some. */
  readonly people: readonly number[]
}

export interface TrailingWeightsDeps {
  readonly costsOf: (
    tenantId: string,
    window: { readonly fromMs: number; readonly toMs: number },
    limit: number,
  ) => Promise<{ readonly costs: readonly CostOfPeople[]; readonly totalSteps: bigint }>
  /** Keeps the rows once for a token: of two who work them out, the first one's stay. */
  readonly keep: (
    rows: readonly {
      readonly tenantId: string
      readonly asOfMs: number
      readonly service: string
      readonly owner: string
      readonly weightSteps: bigint
      /** Whether reports may spread by it (k = 5). */
      readonly isShown: boolean
    }[],
    token: string,
  ) => Promise<void>
  /** Told of weights that could not be worked out or kept. */
  readonly failed: (tenantId: string, asOfMs: number, cause: unknown) => void
}

/** The instant whose weights hold at a time: the same for all of an hour, whoever asks and however often. */
export const weightsInstant = (nowMs: number): number => Math.floor((nowMs - SETTLED_MS) / EVERY_MS) * EVERY_MS

/**
 * Sees to it that a tenant's weights as of `weightsInstant(nowMs)` are kept, and says which instant that is. Rows of the
 * read model are never changed, so that the same instant always gives the same weights.
 *
 * Never throws: whose weights cannot be worked out would hold up every tenant of the partition. Its records then name the
 * last weights that are known here, or none (undefined): they stay in their pool.
 */
export function trailingWeights({
  costsOf,
  keep,
  failed,
}: TrailingWeightsDeps): (tenantId: string, nowMs: number) => Promise<number | undefined> {
  const kept = new Map<string, number>()
  const failedAt = new Map<string, number>()
  const workOut = async (tenantId: string, asOfMs: number): Promise<void> => {
    const { costs, totalSteps } = await costsOf(tenantId, { fromMs: asOfMs - WINDOW_MS, toMs: asOfMs }, WEIGHTS_MAX)
    const { weights, staysParts } = weightsOf(costs, totalSteps)
    const areShown = shownOf(costs)
    const rows = [
      ...weights.map((weight, place) => ({ ...weight, isShown: areShown[place] ?? false })),
      { service: '', owner: '', parts: staysParts, isShown: true },
    ]
      .filter(({ parts }) => parts > 0n)
      .map(({ parts, ...row }) => ({ tenantId, asOfMs, ...row, weightSteps: weightSteps(parts) }))
    await keep(rows, `weights.${tenantId}.${asOfMs}`)
  }
  return async (tenantId, nowMs) => {
    const asOfMs = weightsInstant(nowMs)
    const lastMs = kept.get(tenantId)
    if (lastMs === asOfMs || nowMs - (failedAt.get(tenantId) ?? Number.NEGATIVE_INFINITY) < RETRY_MS) return lastMs
    try {
      await workOut(tenantId, asOfMs)
    } catch (cause) {
      failed(tenantId, asOfMs, cause)
      if (failedAt.size >= KEPT_MAX) failedAt.clear()
      failedAt.set(tenantId, nowMs)
      return lastMs
    }
    failedAt.delete(tenantId)
    if (kept.size >= KEPT_MAX) kept.clear()
    kept.set(tenantId, asOfMs)
    return asOfMs
  }
}

/**
 * Which weights tell of five people or nobody, and so do those that are not told taken together. A weight is a share of
 * what its people's calls cost, so that it is folded like any figure of a report; once, whatever reports ask.
 */
function shownOf(costs: readonly CostOfPeople[]): readonly boolean[] {
  const leaves = costs.map(({ service, owner, people }) => ({
    path: [JSON.stringify([owner, service])],
    people: peopleOf(people),
  }))
  return foldLeaves(leaves).map((labels) => labels > 0)
}
