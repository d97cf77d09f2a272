import type { KV } from '@nats-io/kv'
import { type WatchedRecords, watchRecords } from '../../broker/watched-records.js'
import type { Dimension } from '../../records/dimensions.js'
import { declaredKeys } from './declared-tags.js'
import { haveCostlyGlobs, type StoredRule } from './mapping-rule.js'

type DimensionsOf = (tenantId: string) => readonly Pick<Dimension, 'key'>[]

/** Mapping rules as a gateway needs them. */
export interface GatewayRules {
  readonly rules: WatchedRecords<StoredRule>
  /** The folded tag keys that a tenant has declared. */
  readonly declaredTagsOf: (tenantId: string) => ReadonlySet<string>
  /** Whether a tenant's rules may cost a call more than the rest of its attribution. */
  readonly haveCostlyGlobs: (tenantId: string) => boolean
}

/**
 * @param bucket of mapping rules
 * @param dimensionsOf the same object until they change
 * @param onLost called once when the KV watch is lost
 */
export async function openRules(
  bucket: KV,
  dimensionsOf: DimensionsOf,
  onLost: (cause: unknown) => void,
): Promise<GatewayRules> {
  const declared = new Map<string, { readonly dimensions: unknown; readonly keys: ReadonlySet<string> }>()
  const areCostly = new Map<string, boolean>()
  const rules = await watchRecords<StoredRule>(bucket, onLost, () => {
    declared.clear()
    areCostly.clear()
  })
  return {
    rules,
    declaredTagsOf(tenantId) {
      const dimensions = dimensionsOf(tenantId)
      const before = declared.get(tenantId)
      if (before?.dimensions === dimensions) return before.keys
      const keys = declaredKeys(dimensions, rules.of(tenantId))
      declared.set(tenantId, { dimensions, keys })
      return keys
    },
    haveCostlyGlobs(tenantId) {
      const known = areCostly.get(tenantId)
      if (known !== undefined) return known
      const areSo = haveCostlyGlobs(rules.of(tenantId))
      areCostly.set(tenantId, areSo)
      return areSo
    },
  }
}
