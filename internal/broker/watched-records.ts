import type { KV } from '@nats-io/kv'
import { ByTenant } from './by-tenant.js'
import { type Mirror, mirrorBucket } from './mirror.js'
import { bucketRecords, type Records } from './records.js'

/** The tenants' records of a bucket: a copy in memory to read from, and what changes them, after which the copy has it. */
export interface WatchedRecords<T> extends Records<T> {
  /** As of a moment ago. */
  get(key: string): T | undefined
  /** Those of a tenant, as of a moment ago: first what this copy began with, then the others in the order in which they came. */
  of(tenantId: string): Iterable<T>
  countOf(tenantId: string): number
  readonly reached: Mirror<T>['reached']
  stop(): void
}

/** Follows a bucket as `mirrorBucket` does. */
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
    stop: mirror.stop,
  }
}
