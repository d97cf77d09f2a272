import type { SourceEntry } from '../../records/capture-source.js'
import { PATHWAY_CATEGORIES, type PathwayCategory, pathwayOfLayer } from '../../records/interpretation.js'
import type { ObservedSource, SeenLayer } from '../../store/queries/reports/coverage.js'

/** How well the ways to the providers are seen (spec 4.4, design section 10). */

export const COVERAGE_STATUSES = ['covered', 'degraded', 'discovery_only', 'silent'] as const
export type CoverageStatus = (typeof COVERAGE_STATUSES)[number]

/** All there are, in the order of the map. */
export const PATHWAYS: readonly PathwayCategory[] = PATHWAY_CATEGORIES

export interface PathwayCoverage {
  readonly pathway: PathwayCategory
  readonly status: CoverageStatus
  /** Capture layers by which calls came in the last 24 hours. */
  readonly layersDeployed: readonly string[]
  /** Expected, and not among them. */
  readonly layersMissing: readonly string[]
  /** Sources that tell that there is traffic and never of single calls; nothing of theirs becomes a record. */
  readonly discoveryOnly: readonly string[]
  /** Of the newest call, milliseconds since the epoch. */
  readonly lastEventAtMs: number | undefined
  /** Of the calls of the last 24 hours those that nobody could be named for, in ten-thousandths. */
  readonly unattributedShare: number | undefined
}

/** A layer that was there on so many of the seven days before is expected, whether it is in the directory or not. */
const EXPECTED_DAYS = 3

export interface CoverageFacts {
  readonly seen: readonly SeenLayer[]
  readonly observed: readonly ObservedSource[]
  readonly sources: Iterable<SourceEntry>
}

/** Every pathway of which anything is known, in the order of their closed list. */
export function coverageOf({ seen, observed, sources }: CoverageFacts): PathwayCoverage[] {
  const declared = [...sources]
  const captures = new Set(seen.map(({ layer }) => layer))
  const known = new Set([...captures, ...declared.map(({ name }) => name)])
  const discoveries = [
    ...declared.filter(({ is_discovery_only }) => is_discovery_only).map(({ name, pathway }) => ({ name, pathway })),
    // Named by nothing but observations: traffic is discovered there, and no layer captures it.
    ...observed.filter(({ source }) => !known.has(source)).map(({ source }) => ({ name: source, pathway: undefined })),
  ]
  const hidden = new Set(discoveries.map(({ name }) => name))

  return PATHWAYS.flatMap((pathway) => {
    const own = seen.filter((layer) => layer.pathway === pathway && !hidden.has(layer.layer))
    const deployed = own.filter(({ calls }) => calls > 0).map(({ layer }) => layer)
    const expected = [
      ...declared.filter((each) => each.pathway === pathway && !each.is_discovery_only).map(({ name }) => name),
      ...own.filter(({ days }) => days >= EXPECTED_DAYS).map(({ layer }) => layer),
    ]
    const missing = expected.filter((layer) => !deployed.includes(layer))
    const discoveryOnly = discoveries
      .filter((each) => (each.pathway ?? pathwayOfLayer(each.name)) === pathway)
      .map(({ name }) => name)
    if (own.length + missing.length + discoveryOnly.length === 0) return []
    const calls = own.reduce((sum, each) => sum + each.calls, 0)
    const unattributed = own.reduce((sum, each) => sum + each.unattributedCalls, 0)
    return [
      {
        pathway,
        status: statusOf(deployed, missing, discoveryOnly),
        layersDeployed: inOrder(deployed),
        layersMissing: inOrder(missing),
        discoveryOnly: inOrder(discoveryOnly),
        lastEventAtMs: own.length === 0 ? undefined : Math.max(...own.map(({ lastEventAtMs }) => lastEventAtMs)),
        unattributedShare: calls === 0 ? undefined : Math.round((unattributed * 10_000) / calls),
      },
    ]
  })
}

function statusOf(
  deployed: readonly string[],
  missing: readonly string[],
  discoveryOnly: readonly string[],
): CoverageStatus {
  if (missing.length > 0) return 'degraded'
  if (deployed.length > 0) return 'covered'
  return discoveryOnly.length > 0 ? 'discovery_only' : 'silent'
}

const inOrder = (names: readonly string[]): string[] => [...new Set(names)].sort()
