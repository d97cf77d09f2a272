import { idHex } from '../../ids/ids.js'
import type { AttributionRow } from '../../store/tables/attributions.js'
import { type Match, matchOf, type View } from '../sightings/matches.js'
import { MATCHED_BY, type MatchedBy, MEMBERS_MAX, observerOf, seenByOf } from '../sightings/seen-by.js'
import { isDisputed, isOverridden } from './decided.js'
import { isStronger } from './merged.js'

/** The valid version of a record that may show a call. */
export interface Candidate {
  readonly row: AttributionRow
  /** Of events that are merged into it already, besides its own. */
  readonly absorbed?: readonly AttributionRow[]
}

/** Two records of one call. */
export interface Pair {
  /** Hex id of the record that stays: its attribution is the stronger one. */
  readonly winner: string
  /** Hex id of the record that is closed. */
  readonly absorbed: string
  readonly matchedBy: MatchedBy
  /** Of a span around another one: whether that of the absorbed record is the inner one, nearer to the provider. */
  readonly isInnerAbsorbed?: boolean
}

export interface Compared {
  /** In the order in which to apply them: a record that stays may take in another one later. */
  readonly pairs: readonly Pair[]
  /** Hex ids of two records that may show the same call, which nothing proves. */
  readonly perhaps: readonly (readonly [string, string])[]
}

interface Cluster {
  readonly row: AttributionRow
  /** Of all events that it counts, as far as they are known. */
  readonly views: readonly AttributionRow[]
  readonly ids: ReadonlySet<string>
  readonly observers: ReadonlySet<string>
  /** The traces within which its spans are, each with the credential that sent it. */
  readonly contexts: ReadonlySet<string>
  readonly apart: ReadonlySet<string>
  readonly perhaps: ReadonlySet<string>
}

const NOTHING: Compared = { pairs: [], perhaps: [] }

/**
 * Which of these records show the same call. Pure; the order of the records does not matter.
 *
 * An observer shows a call once. So of several records of another observer, each is paired with the one that has most
 * in common with it, then with the nearest in time. A record on which a person has decided is never closed.
 */
export function sameCalls(candidates: readonly Candidate[]): Compared {
  if (candidates.length > MEMBERS_MAX) return NOTHING
  const clusters = candidates.map(clusterOf)
  const likenesses = likenessesOf(clusters)
  // Where each cluster is now.
  const places = clusters.map((_, i) => i)
  const pairs: Pair[] = []
  for (const { i, k, match, views } of likenesses) {
    const [at, from] = [places[i] as number, places[k] as number]
    const [one, other] = [clusters[at] as Cluster, clusters[from] as Cluster]
    if (at === from || !isMergeable(one, other, match, views)) continue
    const isWinnerOne = isStronger(one.row, other.row)
    const [winner, absorbed] = isWinnerOne ? [one, other] : [other, one]
    pairs.push({
      winner: idHex(winner.row.id),
      absorbed: idHex(absorbed.row.id),
      matchedBy: match.by,
      ...(match.inner !== undefined && { isInnerAbsorbed: (match.inner === 'one') !== isWinnerOne }),
    })
    clusters[at] = joined(winner, absorbed)
    for (const [n, place] of places.entries()) if (place === from) places[n] = at
  }
  return { pairs, perhaps: doubtful(clusters, places, likenesses) }
}

/** Pairs among those that remain, each record once: of several that look like one, the nearest. */
function doubtful(
  clusters: readonly Cluster[],
  places: readonly number[],
  likenesses: readonly Likeness[],
): (readonly [string, string])[] {
  const pairs: (readonly [string, string])[] = []
  const done = new Set<Cluster>()
  for (const { i, k, match } of likenesses) {
    const [one, other] = [clusters[places[i] as number] as Cluster, clusters[places[k] as number] as Cluster]
    const isNew = [one, other].every((each) => !done.has(each) && each.perhaps.size === 0 && !isDecided(each.row))
    if (!isNew || one === other || !mayBeOne(one, other) || (match.isSure && !areInOtherContexts(one, other))) continue
    pairs.push([idHex(one.row.id), idHex(other.row.id)])
    done.add(one).add(other)
  }
  return pairs
}

function clusterOf({ row, absorbed = [] }: Candidate): Cluster {
  const { also, apart, perhaps = [] } = seenByOf(row)
  return {
    row,
    views: [row, ...absorbed],
    ids: new Set([idHex(row.id), ...also.map(({ id }) => id)]),
    observers: new Set([observerOf(row), ...also.map(observerOf)]),
    contexts: new Set([row, ...absorbed].filter(isWithin).map(({ principal, traceId }) => `${principal}\n${traceId}`)),
    apart: new Set(apart),
    perhaps: new Set(perhaps),
  }
}

const isWithin = ({ intake, traceId, parentSpanId }: AttributionRow): boolean =>
  intake === OTLP && traceId !== '' && parentSpanId !== ''
const OTLP = 'otlp'

const joined = (winner: Cluster, absorbed: Cluster): Cluster => ({
  row: winner.row,
  views: [...winner.views, ...absorbed.views],
  ids: new Set([...winner.ids, ...absorbed.ids]),
  observers: new Set([...winner.observers, ...absorbed.observers]),
  contexts: new Set([...winner.contexts, ...absorbed.contexts]),
  apart: new Set([...winner.apart, ...absorbed.apart]),
  perhaps: new Set([...winner.perhaps, ...absorbed.perhaps]),
})

/** What the events of two records have in common. */
interface Likeness {
  /** The places of the records. */
  readonly i: number
  readonly k: number
  readonly match: Match
  readonly views: readonly [View, View]
  readonly distanceMs: number
  /** Breaks ties. */
  readonly name: string
}

/** The strongest first, then the nearest in time. */
function likenessesOf(clusters: readonly Cluster[]): Likeness[] {
  const found: Likeness[] = []
  for (const [i, one] of clusters.entries()) {
    for (let k = i + 1; k < clusters.length; k++) {
      const other = clusters[k] as Cluster
      const name = [idHex(one.row.id), idHex(other.row.id)].sort().join()
      for (const view of one.views) {
        for (const seen of other.views) {
          const match = matchOf(view, seen)
          const distanceMs = Math.abs(view.eventTimeMs - seen.eventTimeMs)
          if (match !== undefined) found.push({ i, k, match, views: [view, seen], distanceMs, name })
        }
      }
    }
  }
  return found.sort(
    (one, other) =>
      MATCHED_BY.indexOf(one.match.by) - MATCHED_BY.indexOf(other.match.by) ||
      one.distanceMs - other.distanceMs ||
      (one.name < other.name ? -1 : 1),
  )
}

function isMergeable(one: Cluster, other: Cluster, match: Match, [view, seen]: readonly [View, View]): boolean {
  if (!match.isSure || (isDecided(one.row) && isDecided(other.row))) return false
  if (match.by === 'response_id' || match.by === 'equal_counts') {
    return mayBeOne(one, other) && !areInOtherContexts(one, other)
  }
  if (match.by !== 'parent_span') return mayBeOne(one, other)
  if (areApart(one, other)) return false
  const [inner, outer, around] = match.inner === 'one' ? [view, seen, other] : [seen, view, one]
  if (around.views.some((each) => each.parentSpanId === outer.spanId && each.traceId === outer.traceId)) return false
  // The two may be of one observer, which shows its call from outside and inside; beside them, each shows it once.
  const isOneObserver = observerOf(inner) === observerOf(outer)
  return [...one.observers].every(
    (observer) => !other.observers.has(observer) || (isOneObserver && observer === observerOf(inner)),
  )
}

const mayBeOne = (one: Cluster, other: Cluster): boolean =>
  !areApart(one, other) && !overlaps(one.observers, other.observers)

/**
 * A process makes a call within one trace: what its instrumentations show within two, neither of them a root of its
 * own, is more likely an id that came back, or a parallel call that is alike.
 */
const areInOtherContexts = (one: Cluster, other: Cluster): boolean =>
  principalsOf(one.contexts).some((principal) => principalsOf(other.contexts).includes(principal)) &&
  !overlaps(one.contexts, other.contexts)

const principalsOf = (contexts: ReadonlySet<string>): readonly string[] =>
  [...contexts].map((context) => context.slice(0, context.indexOf('\n')))

const areApart = (one: Cluster, other: Cluster): boolean =>
  overlaps(one.apart, other.ids) || overlaps(other.apart, one.ids)

const overlaps = (one: ReadonlySet<string>, other: ReadonlySet<string>): boolean => {
  for (const each of one) if (other.has(each)) return true
  return false
}

const isDecided = (row: AttributionRow): boolean => isOverridden(row) || isDisputed(row)
