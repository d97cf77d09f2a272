import { readFileSync } from 'node:fs'
import type { VectorName } from './vectors.js'

/** Why our price is another one than both books state: what the provider publishes, with its source. */
export interface Reason {
  readonly provider: string
  /** Absent: all. */
  readonly models?: readonly string[]
  /** Absent: all. */
  readonly vectors?: readonly VectorName[]
  readonly reason: string
}

/** @param folder of the bench's sources */
export const readReasons = (folder: string): readonly Reason[] =>
  (JSON.parse(readFileSync(`${folder}/reasons.data.json`, 'utf8')) as { readonly reasons: readonly Reason[] }).reasons
