import { type Dimension, foldKey } from '../../records/dimensions.js'
import type { StoredRule } from './mapping-rule.js'

/** The folded tag keys that a tenant has declared: as dimensions, or by a mapping rule that tests them. */
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
