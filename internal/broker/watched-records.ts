import type { KV } from '@nats-io/kv'
import { ByTenant } from './by-tenant.js'
import { type Mirror, mirrorBucket } from './mirror.js'
import { bucketRecords, type Records } from './records.js'

/** Tenants' records of a bucket: read from memory, changed in the bucket. Resolves when the memory has the change. */
export interface WatchedRecords<T> extends Records<T> {
  /** From the copy in memory, a moment old. */
  get(key: string): T | undefined
  /** A tenant's records, a moment old: those of the initial copy, then the others in order of creation. */
  of(tenantId: string): Iterable<T>
  countOf(tenantId: string): number
  readonly reached: Mirror<T>['reached']
  readonly revision: Mirror<T>['revision']
  stop(): void
}

/** Watches a bucket, as `mirrorBucket` does. */
export async function watchRecords<T extends { readonly tenant_id: string }>(
  bucket: KV,
  onLost: (cause: unknown) => void,
  onChange: (key: string, record: T | undefined) => void = () => undefined,
): Promise<WatchedRecords<T>> {
  const byTenant = new ByTenant<T>()
  const mirror = await mirrorBucket<T>(bucket, onLost, (key, record) => {
    byTenant.follow(key, record)
    onChange(key, record)
  })
  return {
    ...bucketRecords<T>(bucket, mirror.reached),
    get: mirror.get,
    of: (tenantId) => byTenant.of(tenantId),
    countOf: (tenantId) => byTenant.countOf(tenantId),
    reached: mirror.reached,
    revision: mirror.revision,
    stop: mirror.stop,
  }
}
