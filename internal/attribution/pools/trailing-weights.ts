import { foldLeaves } from '../../cohorts/fold.js'
import { peopleOf } from '../../cohorts/people.js'
import { Limiter } from '../../process/limiter.js'
import { type CostOfPeople, WEIGHT_WINDOW_MS, weightSteps, weightsOf } from '../../records/allocation-weights.js'

/** Weights are worked out once an hour, for its end; a batch that lands late has landed five minutes later. */
const EVERY_MS = 60 * 60 * 1000
const SETTLED_MS = 5 * 60 * 1000
/** Services and owners that have a weight of their own; the share of the others stays in the pool. */
export const WEIGHTS_MAX = 500
/** Tenants whose last weights are known to be there. */
const KEPT_MAX = 10_000
/** After a failure a tenant's weights are left alone for so long: the read model is not asked for them again and again. */
const RETRY_MS = 5 * 60 * 1000
/** Tenants whose weights are computed at a time: when an hour ends, all of them are due. */
const COMPUTING_MAX = 2

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
  /** The newest instant at or before one, as of which a tenant's weights are kept, by whatever process; a look-up of milliseconds. */
  readonly lastKept: (tenantId: string, byMs: number) => Promise<number | undefined>
  /** Told of weights that could not be worked out or kept. */
  readonly failed: (tenantId: string, asOfMs: number, cause: unknown) => void
}

/** The instant whose weights hold at a time: the same for all of an hour, whoever asks and however often. */
export const weightsInstant = (nowMs: number): number => Math.floor((nowMs - SETTLED_MS) / EVERY_MS) * EVERY_MS

/**
 * Says as of which instant a tenant's last known weights are, and sees to it that those as of `weightsInstant(nowMs)` are
 * kept and are the next ones that are named. Rows of the read model are never changed, so that the same instant always gives
 * the same weights.
 *
 * Never throws, and never waits for weights to be worked out: that reads a month, and until a batch is done nobody sees what
 * came after it, whosever it is. A tenant that never had any is told none (undefined), as its records stay in their pool.
 * All partitions of the process share one run for a tenant.
 */
export function trailingWeights({
  costsOf,
  keep,
  lastKept,
  failed,
}: TrailingWeightsDeps): (tenantId: string, nowMs: number) => Promise<number | undefined> {
  /** Undefined for who has none; who is missing has not been looked up. */
  const known = new Map<string, number | undefined>()
  const lookingUp = new Map<string, Promise<void>>()
  const failedAt = new Map<string, number>()
  /** Tenants whose weights are being computed, or wait for it. */
  const renewing = new Set<string>()
  const computing = new Limiter(COMPUTING_MAX)

  const remember = (tenantId: string, asOfMs: number | undefined): void => {
    if (known.size >= KEPT_MAX) known.clear()
    known.set(tenantId, asOfMs)
  }
  const fail = (tenantId: string, nowMs: number, cause: unknown): void => {
    if (failedAt.size >= KEPT_MAX) failedAt.clear()
    failedAt.set(tenantId, nowMs)
    failed(tenantId, weightsInstant(nowMs), cause)
  }
  const isLeftAlone = (tenantId: string, nowMs: number): boolean =>
    nowMs - (failedAt.get(tenantId) ?? Number.NEGATIVE_INFINITY) < RETRY_MS

  const lookUp = async (tenantId: string, nowMs: number): Promise<void> => {
    try {
      remember(tenantId, await lastKept(tenantId, weightsInstant(nowMs)))
    } catch (cause) {
      fail(tenantId, nowMs, cause)
    }
  }
  const workOut = async (tenantId: string, asOfMs: number): Promise<void> => {
    const { costs, totalSteps } = await costsOf(
      tenantId,
      { fromMs: asOfMs - WEIGHT_WINDOW_MS, toMs: asOfMs },
      WEIGHTS_MAX,
    )
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
  const renew = async (tenantId: string, nowMs: number): Promise<void> => {
    try {
      await workOut(tenantId, weightsInstant(nowMs))
      failedAt.delete(tenantId)
      remember(tenantId, weightsInstant(nowMs))
    } catch (cause) {
      fail(tenantId, nowMs, cause)
    } finally {
      renewing.delete(tenantId)
    }
  }

  return async (tenantId, nowMs) => {
    if (isLeftAlone(tenantId, nowMs)) return known.get(tenantId)
    if (!known.has(tenantId)) {
      const asked = lookingUp.get(tenantId) ?? lookUp(tenantId, nowMs).finally(() => lookingUp.delete(tenantId))
      lookingUp.set(tenantId, asked)
      await asked
      if (isLeftAlone(tenantId, nowMs)) return undefined
    }
    const lastMs = known.get(tenantId)
    const isOld = lastMs === undefined || lastMs < weightsInstant(nowMs)
    if (isOld && !renewing.has(tenantId)) {
      renewing.add(tenantId)
      void computing.run(() => renew(tenantId, nowMs))
    }
    return lastMs
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
