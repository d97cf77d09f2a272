import { foldKey, readPair } from '../../records/dimensions.js'
import type { AttributionRow } from '../../store/tables/attributions.js'
import type { AppliedRule } from '../stages/a/evidence.js'
import type { Reattributed } from './reattribute.js'

/**
 * Of a re-attribution, what mapping rules have to do with: records that a rule decided before, or decides now, and those that
 * follow them through their trace.
 *
 * @param ruleId of one rule; undefined: any
 */
export function ofMapping(
  ruleId: string | undefined,
  before: readonly AttributionRow[],
  { changed, unnamed }: Reattributed,
): Reattributed {
  const isSought = (row: AttributionRow | undefined): boolean => {
    const rule = row === undefined ? undefined : appliedRule(row)
    return rule !== undefined && (ruleId === undefined || rule.id === ruleId)
  }
  const previous = new Map(before.map((row) => [hexOf(row.id), row]))
  const was = ({ id }: AttributionRow): AttributionRow | undefined => previous.get(hexOf(id))
  const decided = new Set(changed.filter((row) => isSought(row) || isSought(was(row))))
  const traces = new Set([...decided].map(({ traceId }) => traceId).filter((traceId) => traceId !== ''))
  const follows = (row: AttributionRow): boolean =>
    traces.has(row.traceId) && [row, was(row)].some((version) => version?.evidenceBasis === 'trace_correlated')
  return { changed: changed.filter((row) => decided.has(row) || follows(row)), unnamed }
}

/** The rule that decided a record. */
export const appliedRule = ({ evidenceBasis, evidence }: AttributionRow): AppliedRule | undefined =>
  evidenceBasis === 'mapping_rule' ? (JSON.parse(evidence) as { mapping_rule?: AppliedRule }).mapping_rule : undefined

/** The declared tags of a record after a re-attribution: those that rules add change, those that the event states do not. */
export function tagsFrom(before: AttributionRow, after: AttributionRow): readonly string[] {
  const [was, is] = [before, after].map((row) => new Set(Object.keys(appliedRule(row)?.tags ?? {}).map(foldKey)))
  if (was === undefined || is === undefined || was.size + is.size === 0) return before.dimensions
  const now = new Map(after.dimensions.map((pair) => [keyOf(pair), pair]))
  const kept = before.dimensions.map((pair) => (was.has(keyOf(pair)) ? now.get(keyOf(pair)) : undefined) ?? pair)
  const known = new Set(before.dimensions.map(keyOf))
  const set = kept.map((pair) => (is.has(keyOf(pair)) ? (now.get(keyOf(pair)) ?? pair) : pair))
  return [...set, ...[...now].flatMap(([key, pair]) => (is.has(key) && !known.has(key) ? [pair] : []))]
}

const keyOf = (pair: string): string => readPair(pair)[0]

const hexOf = (id: Uint8Array): string => Buffer.from(id.buffer, id.byteOffset, id.length).toString('hex')
