import type { KV } from '@nats-io/kv'
import { isLostRace } from '../../broker/errors.js'
import { added, NO_SHADOW, type ShadowCounts } from './shadow.js'

/** Shadow counts of a candidate in one partition, stored under `<model id>.<partition>` in the bucket `model_shadows`. */
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
