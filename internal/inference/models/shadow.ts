import type { KV } from '@nats-io/kv'
import { isLostRace } from '../../broker/errors.js'
import { CHARGEBACK_FLOOR, PROVISIONAL_FLOOR } from '../../records/interpretation.js'
import type { ClassLabel, Prediction } from '../learning/model.js'

/** Counts of live events by how the prediction of a candidate compares with that of the serving version. */
export interface ShadowCounts {
  readonly events: number
  /** Both predict the same service and owner. */
  readonly agreed: number
  /** At or above the chargeback floor, in the serving version and in the candidate. */
  readonly serving_ready: number
  readonly candidate_ready: number
  /** Both at or above the floor, with different services or owners. */
  readonly ready_for_another: number
  /** Below 0.50, and therefore left to allocation. */
  readonly serving_left: number
  readonly candidate_left: number
  /** The most frequent changes of service or owner. */
  readonly changes: readonly ShadowChange[]
}

export interface ShadowChange {
  readonly from: ClassLabel
  readonly to: ClassLabel
  readonly events: number
}

/** Maximum of listed changes; events with further changes count only in the totals. */
const CHANGES_MAX = 50

export const NO_SHADOW: ShadowCounts = {
  events: 0,
  agreed: 0,
  serving_ready: 0,
  candidate_ready: 0,
  ready_for_another: 0,
  serving_left: 0,
  candidate_left: 0,
  changes: [],
}

/**
 * Compares the predictions of two versions for the same events, in the same order.
 *
 * @param served predictions of the serving version
 */
export function compared(served: readonly Prediction[], candidate: readonly Prediction[]): ShadowCounts {
  let sum = NO_SHADOW
  const changes = new Map<string, ShadowChange>()
  for (const [i, one] of served.entries()) {
    const other = candidate[i]
    if (other === undefined) break
    const isSame = one.label.service === other.label.service && one.label.owner === other.label.owner
    const [oneReady, otherReady] = [one.confidence >= CHARGEBACK_FLOOR, other.confidence >= CHARGEBACK_FLOOR]
    sum = {
      ...sum,
      events: sum.events + 1,
      agreed: sum.agreed + Number(isSame),
      serving_ready: sum.serving_ready + Number(oneReady),
      candidate_ready: sum.candidate_ready + Number(otherReady),
      ready_for_another: sum.ready_for_another + Number(oneReady && otherReady && !isSame),
      serving_left: sum.serving_left + Number(one.confidence < PROVISIONAL_FLOOR),
      candidate_left: sum.candidate_left + Number(other.confidence < PROVISIONAL_FLOOR),
    }
    if (!isSame) count(changes, { from: one.label, to: other.label, events: 1 })
  }
  return { ...sum, changes: mostFrequent(changes) }
}

export function added(one: ShadowCounts, other: ShadowCounts): ShadowCounts {
  const changes = new Map<string, ShadowChange>()
  for (const change of [...one.changes, ...other.changes]) count(changes, change)
  return {
    events: one.events + other.events,
    agreed: one.agreed + other.agreed,
    serving_ready: one.serving_ready + other.serving_ready,
    candidate_ready: one.candidate_ready + other.candidate_ready,
    ready_for_another: one.ready_for_another + other.ready_for_another,
    serving_left: one.serving_left + other.serving_left,
    candidate_left: one.candidate_left + other.candidate_left,
    changes: mostFrequent(changes),
  }
}

function count(changes: Map<string, ShadowChange>, { from, to, events }: ShadowChange): void {
  const key = JSON.stringify([from.service, from.owner, to.service, to.owner])
  changes.set(key, { from, to, events: (changes.get(key)?.events ?? 0) + events })
}

const mostFrequent = (changes: ReadonlyMap<string, ShadowChange>): ShadowChange[] =>
  [...changes.values()].sort((one, other) => other.events - one.events).slice(0, CHANGES_MAX)

/**
 * Shadow counts of a candidate in one partition, stored under `<model id>.<partition>` in the bucket `model_shadows`.
 */
export interface StoredShadow {
  readonly tenant_id: string
  readonly model_id: string
  /** The version that served during the evaluation; the counts restart when another version serves. */
  readonly against: string
  readonly since: string
  /** Token of the last counted batch: a redelivered batch is not counted twice. */
  readonly token: string
  readonly counts: ShadowCounts
}

/** The shadow counts of one batch. */
export interface ShadowOfBatch {
  readonly tenantId: string
  readonly modelId: string
  readonly against: string
  readonly partition: number
  readonly token: string
  readonly counts: ShadowCounts
  readonly atMs: number
}

/** Adds a batch to the stored counts, exactly once. */
export async function countShadow(bucket: KV, shadow: ShadowOfBatch): Promise<void> {
  const key = `${shadow.modelId}.${shadow.partition}`
  for (;;) {
    const entry = await bucket.get(key)
    const before = entry?.operation === 'PUT' ? entry.json<StoredShadow>() : undefined
    if (before?.token === shadow.token) return
    const continues = before?.against === shadow.against
    const after: StoredShadow = {
      tenant_id: shadow.tenantId,
      model_id: shadow.modelId,
      against: shadow.against,
      since: continues ? before.since : new Date(shadow.atMs).toISOString(),
      token: shadow.token,
      counts: added(continues ? before.counts : NO_SHADOW, shadow.counts),
    }
    try {
      if (entry === null) await bucket.create(key, JSON.stringify(after))
      else await bucket.update(key, JSON.stringify(after), entry.revision)
      return
    } catch (cause) {
      if (!isLostRace(cause)) throw cause
    }
  }
}
