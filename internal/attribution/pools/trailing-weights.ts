import { Limiter } from '../../process/limiter.js'
import { type CostOfPeople, WEIGHT_WINDOW_MS, weightSteps, weightsOf } from '../../records/allocation-weights.js'

/** Weights are computed once per hour, as of its end; late batches are stored within five minutes. */
const EVERY_MS = 60 * 60 * 1000
const SETTLED_MS = 5 * 60 * 1000
/** Maximum number of (service, owner) pairs with a weight; the share of all others stays in the pool. */
const WEIGHTS_MAX = 500
/** Tenants whose last weights are cached. */
const KEPT_MAX = 10_000
/** Wait after a failure, so that the read model is not queried in a loop. */
const RETRY_MS = 5 * 60 * 1000
/** Tenants computed concurrently: when an hour ends, all of them are due. */
const COMPUTING_MAX = 2

export interface TrailingWeightsDeps {
  readonly costsOf: (
    tenantId: string,
    window: { readonly fromMs: number; readonly toMs: number },
    limit: number,
  ) => Promise<{ readonly costs: readonly CostOfPeople[]; readonly totalSteps: bigint }>
  /** Stores the rows once per token: if two processes compute them, the first one wins. */
  readonly keep: (
    rows: readonly {
      readonly tenantId: string
      readonly asOfMs: number
      readonly service: string
      readonly owner: string
      readonly weightSteps: bigint
      /** Whether reports may spread a pool by this weight. */
      readonly isShown: boolean
    }[],
    token: string,
  ) => Promise<void>
  /** The newest instant up to `byMs` for which any process stored weights of the tenant. Takes milliseconds. */
  readonly lastKept: (tenantId: string, byMs: number) => Promise<number | undefined>
  /** Called when weights could not be computed or stored. */
  readonly failed: (tenantId: string, asOfMs: number, cause: unknown) => void
}

/** The instant whose weights apply at a time: the same throughout an hour. */
export const weightsInstant = (nowMs: number): number => Math.floor((nowMs - SETTLED_MS) / EVERY_MS) * EVERY_MS

/**
 * Returns the instant of a tenant's last known weights, and starts computing those as of `weightsInstant(nowMs)` if
 * they are newer. Rows of the read model never change, so that the same instant always gives the same weights.
 *
 * Never throws, and never waits for the computation: it reads a month of records, and an unfinished batch delays
 * everything behind it in its partition. Returns undefined for a tenant without weights, whose records stay in their
 * pool. All partitions of the process share one computation per tenant.
 */
export function trailingWeights({
  costsOf,
  keep,
  lastKept,
  failed,
}: TrailingWeightsDeps): (tenantId: string, nowMs: number) => Promise<number | undefined> {
  /** Undefined for tenants without weights; tenants not yet looked up are missing. */
  const known = new Map<string, number | undefined>()
  const lookingUp = new Map<string, Promise<void>>()
  const failedAt = new Map<string, number>()
  /** Tenants whose weights are being computed or queued. */
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
  const isBackingOff = (tenantId: string, nowMs: number): boolean =>
    nowMs - (failedAt.get(tenantId) ?? Number.NEGATIVE_INFINITY) < RETRY_MS

  const lookUp = async (tenantId: string, nowMs: number): Promise<void> => {
    try {
      remember(tenantId, await lastKept(tenantId, weightsInstant(nowMs)))
    } catch (cause) {
      fail(tenantId, nowMs, cause)
    }
  }
  const computeWeights = async (tenantId: string, asOfMs: number): Promise<void> => {
    const { costs, totalSteps } = await costsOf(
      tenantId,
      { fromMs: asOfMs - WEIGHT_WINDOW_MS, toMs: asOfMs },
      WEIGHTS_MAX,
    )
    const { weights, staysParts } = weightsOf(costs, totalSteps)
    const rows = [
      ...weights.map((weight, index) => ({ ...weight, isShown: costs[index]?.isShown ?? false })),
      { service: '', owner: '', parts: staysParts, isShown: true },
    ]
      .filter(({ parts }) => parts > 0n)
      .map(({ parts, ...row }) => ({ tenantId, asOfMs, ...row, weightSteps: weightSteps(parts) }))
    await keep(rows, `weights.${tenantId}.${asOfMs}`)
  }
  const renew = async (tenantId: string, nowMs: number): Promise<void> => {
    try {
      await computeWeights(tenantId, weightsInstant(nowMs))
      failedAt.delete(tenantId)
      remember(tenantId, weightsInstant(nowMs))
    } catch (cause) {
      fail(tenantId, nowMs, cause)
    } finally {
      renewing.delete(tenantId)
    }
  }

  return async (tenantId, nowMs) => {
    if (isBackingOff(tenantId, nowMs)) return known.get(tenantId)
    if (!known.has(tenantId)) {
      const asked = lookingUp.get(tenantId) ?? lookUp(tenantId, nowMs).finally(() => lookingUp.delete(tenantId))
      lookingUp.set(tenantId, asked)
      await asked
      if (isBackingOff(tenantId, nowMs)) return undefined
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
