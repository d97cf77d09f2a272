/** Reads committed vectors: expected values computed by another implementation (named in `made_by`). */
import { readFileSync } from 'node:fs'

export function readVectors<V>(name: string): readonly V[] {
  const text = readFileSync(new URL(`./${name}-vectors.data.json`, import.meta.url), 'utf8')
  return (JSON.parse(text) as { readonly vectors: readonly V[] }).vectors
}
