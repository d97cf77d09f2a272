import { idHex } from '../../ids/ids.js'
import type { AttributionRow } from '../../store/tables/attributions.js'
import {
  type CallKey,
  callKeys,
  type MatchedBy,
  MEMBERS_MAX,
  SAME_CALL_MS,
  seenByOf,
  sourceOf,
} from '../sightings/seen-by.js'
import { isDisputed, isOverridden } from './decided.js'
import { isStronger } from './merged.js'

/** The valid version of a record that may show a call. */
export interface Candidate {
  readonly row: AttributionRow
  /** Keys of the events that are merged into it already, besides its own. */
  readonly absorbedKeys?: readonly CallKey[]
}

/** Two records of one call. */
export interface Pair {
  /** Hex id of the record that stays: its attribution is the stronger one. */
  readonly winner: string
  /** Hex id of the record that is closed. */
  readonly absorbed: string
  readonly matchedBy: MatchedBy
}

interface Cluster {
  readonly row: AttributionRow
  readonly ids: ReadonlySet<string>
  readonly sources: ReadonlySet<string>
  readonly keys: ReadonlyMap<string, MatchedBy>
  readonly apart: ReadonlySet<string>
}

/**
 * Which of these records show the same call. Pure; the order of the records does not matter.
 *
 * A source shows a call once. So two records of one source are two calls, also where they share a response id, as a
 * replay from a cache does; and of several records of another source, each is paired with the one nearest in time. A
 * record on which a person has decided is never closed.
 *
 * @returns in the order in which to apply them: a record that stays may take in another one later
 */
export function sameCalls(candidates: readonly Candidate[]): readonly Pair[] {
  let clusters = candidates.map(clusterOf)
  if (clusters.length > MEMBERS_MAX) return []
  const pairs: Pair[] = []
  for (let best = nearest(clusters); best !== undefined; best = nearest(clusters)) {
    const { one, other, matchedBy } = best
    const [winner, absorbed] = isStronger(one.row, other.row) ? [one, other] : [other, one]
    pairs.push({ winner: idHex(winner.row.id), absorbed: idHex(absorbed.row.id), matchedBy })
    clusters = [...clusters.filter((each) => each !== one && each !== other), joined(winner, absorbed)]
  }
  return pairs
}

function clusterOf({ row, absorbedKeys = [] }: Candidate): Cluster {
  const { also, apart } = seenByOf(row)
  return {
    row,
    ids: new Set([idHex(row.id), ...also.map(({ id }) => id)]),
    sources: new Set([sourceOf(row), ...also.map(sourceOf)]),
    keys: new Map([...callKeys(row), ...absorbedKeys].map(({ text, by }) => [text, by])),
    apart: new Set(apart),
  }
}

const joined = (winner: Cluster, absorbed: Cluster): Cluster => ({
  row: winner.row,
  ids: new Set([...winner.ids, ...absorbed.ids]),
  sources: new Set([...winner.sources, ...absorbed.sources]),
  keys: new Map([...winner.keys, ...absorbed.keys]),
  apart: new Set([...winner.apart, ...absorbed.apart]),
})

interface Match {
  readonly one: Cluster
  readonly other: Cluster
  readonly matchedBy: MatchedBy
  readonly distanceMs: number
  /** Breaks ties. */
  readonly name: string
}

function nearest(clusters: readonly Cluster[]): Match | undefined {
  let best: Match | undefined
  for (const [i, one] of clusters.entries()) {
    for (const other of clusters.slice(i + 1)) {
      const match = matchOf(one, other)
      if (match !== undefined && (best === undefined || isNearer(match, best))) best = match
    }
  }
  return best
}

const isNearer = (match: Match, best: Match): boolean =>
  match.distanceMs < best.distanceMs || (match.distanceMs === best.distanceMs && match.name < best.name)

function matchOf(one: Cluster, other: Cluster): Match | undefined {
  const distanceMs = Math.abs(one.row.eventTimeMs - other.row.eventTimeMs)
  if (distanceMs > SAME_CALL_MS || overlaps(one.sources, other.sources)) return undefined
  if (overlaps(one.apart, other.ids) || overlaps(other.apart, one.ids)) return undefined
  if (isDecided(one.row) && isDecided(other.row)) return undefined
  const [matchedBy] = [...one.keys]
    .filter(([text]) => other.keys.has(text))
    .map(([, by]) => by)
    .sort()
  if (matchedBy === undefined) return undefined
  const name = [idHex(one.row.id), idHex(other.row.id)].sort().join()
  return { one, other, matchedBy, distanceMs, name }
}

const overlaps = (one: ReadonlySet<string>, other: ReadonlySet<string>): boolean => {
  for (const each of one) if (other.has(each)) return true
  return false
}

const isDecided = (row: AttributionRow): boolean => isOverridden(row) || isDisputed(row)
