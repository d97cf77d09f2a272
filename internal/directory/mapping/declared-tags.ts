import type { KV } from '@nats-io/kv'
import { watchRecords } from '../../broker/watched-records.js'
import { type Dimension, foldKey } from '../../records/dimensions.js'
import type { StoredRule } from './mapping-rule.js'

type DimensionsOf = (tenantId: string) => readonly Pick<Dimension, 'key'>[]

/**
 * The folded tag keys that a tenant has declared: as dimensions, or by a mapping rule that tests them.
 *
 * @param rules the bucket of mapping rules
 * @param dimensionsOf the same object until they change
 * @param onLost called once when the KV watch is lost
 */
export async function openDeclaredTags(rules: KV, dimensionsOf: DimensionsOf, onLost: (cause: unknown) => void) {
  const known = new Map<string, { readonly dimensions: unknown; readonly keys: ReadonlySet<string> }>()
  const watched = await watchRecords<StoredRule>(rules, onLost, () => known.clear())

  return (tenantId: string): ReadonlySet<string> => {
    const dimensions = dimensionsOf(tenantId)
    const before = known.get(tenantId)
    if (before?.dimensions === dimensions) return before.keys
    const keys = declaredKeys(dimensions, watched.of(tenantId))
    known.set(tenantId, { dimensions, keys })
    return keys
  }
}

export const declaredKeys = (
  dimensions: readonly Pick<Dimension, 'key'>[],
  rules: Iterable<StoredRule>,
): ReadonlySet<string> => {
  // Of every version: each still holds for calls of some time.
  const tested = [...rules]
    .flatMap(({ versions }) => versions.flatMap(({ when }) => when))
    .flatMap(({ key }) => (key === undefined ? [] : [key]))
  return new Set([...dimensions.map(({ key }) => key), ...tested].map(foldKey))
}
