import type { SourceEntry } from '../../records/capture-source.js'
import { PATHWAY_CATEGORIES, type PathwayCategory, pathwayOfLayer } from '../../records/interpretation.js'
import type { ObservedSource, SeenLayer } from '../../store/queries/reports/coverage.js'

/** Capture coverage of the pathways to the providers. */

export const COVERAGE_STATUSES = ['covered', 'degraded', 'discovery_only', 'silent'] as const
export type CoverageStatus = (typeof COVERAGE_STATUSES)[number]

/** All pathways, in the order of the map. */
export const PATHWAYS: readonly PathwayCategory[] = PATHWAY_CATEGORIES

export interface PathwayCoverage {
  readonly pathway: PathwayCategory
  readonly status: CoverageStatus
  /** Capture layers that sent calls in the last 24 hours. */
  readonly layersDeployed: readonly string[]
  /** Expected layers that sent none. */
  readonly layersMissing: readonly string[]
  /** Sources that report traffic but no single calls; they create no records. */
  readonly discoveryOnly: readonly string[]
  /**
   * Event time of the newest call, or on a pathway without calls of the newest observation; milliseconds since the
   * epoch.
   */
  readonly lastEventAtMs: number | undefined
  /** Unattributed share of the calls of the last 24 hours, in ten-thousandths. */
  readonly unattributedShare: number | undefined
  /** Telemetry that became no records. */
  readonly passedOver: readonly PassedOverCount[]
}

/** Spans, log records or requests of one layer that became no records in the last 24 hours, for a reason. */
export interface PassedOverCount {
  readonly layer: string
  readonly kind: string
  readonly count: number
  readonly lastAtMs: number
}

/**
 * A layer that sent calls on this many of the previous seven days is expected, even if the directory does not declare
 * it.
 */
const EXPECTED_DAYS = 3

export interface CoverageFacts {
  readonly seen: readonly SeenLayer[]
  readonly observed: readonly ObservedSource[]
  readonly sources: Iterable<SourceEntry>
  readonly passedOver: readonly PassedOverCount[]
}

/** Every pathway with data, in the order of their closed list. */
export function coverageOf({ seen, observed, sources, passedOver }: CoverageFacts): PathwayCoverage[] {
  const declared = [...sources]
  const captures = new Set(seen.map(({ layer }) => layer))
  const known = new Set([...captures, ...declared.map(({ name }) => name)])
  const discoveries = [
    ...declared.filter(({ is_discovery_only }) => is_discovery_only).map(({ name, pathway }) => ({ name, pathway })),
    // Sources known only from observations: traffic is discovered, but no layer captures it.
    ...observed.filter(({ source }) => !known.has(source)).map(({ source }) => ({ name: source, pathway: undefined })),
  ]
  const hidden = new Set(discoveries.map(({ name }) => name))
  const layers = seen
    .filter(({ layer }) => !hidden.has(layer))
    .map((each) => ({ ...each, pathway: countedOn(each, declared) }))

  return PATHWAYS.flatMap((pathway) => {
    const own = layers.filter((layer) => layer.pathway === pathway)
    const ofDirectory = new Set(
      declared.filter((each) => each.pathway === pathway && !each.is_discovery_only).map(({ name }) => name),
    )
    // A layer of the directory counts for its pathway even if all its calls were batches or steps of agents.
    const present = layers.filter((each) => each.pathway === pathway || ofDirectory.has(each.layer))
    const deployed = present.filter(({ calls }) => calls > 0).map(({ layer }) => layer)
    const expected = [...ofDirectory, ...own.filter(({ days }) => days >= EXPECTED_DAYS).map(({ layer }) => layer)]
    const missing = expected.filter((layer) => !deployed.includes(layer))
    const discoveryOnly = discoveries
      .filter((each) => (each.pathway ?? pathwayOfLayer(each.name)) === pathway)
      .map(({ name }) => name)
    const passed = passedOver.filter(
      ({ layer }) => declaredPathwayOf(layer, pathwayOfLayer(layer), declared) === pathway,
    )
    if (present.length + missing.length + discoveryOnly.length + passed.length === 0) return []
    const calls = own.reduce((sum, each) => sum + each.calls, 0)
    const unattributed = own.reduce((sum, each) => sum + each.unattributedCalls, 0)
    return [
      {
        pathway,
        status: statusOf(deployed, missing, discoveryOnly),
        layersDeployed: inOrder(deployed),
        layersMissing: inOrder(missing),
        discoveryOnly: inOrder(discoveryOnly),
        lastEventAtMs: newestOf(present) ?? newestOf(observed.filter(({ source }) => discoveryOnly.includes(source))),
        unattributedShare: calls === 0 ? undefined : shareOf(unattributed, calls),
        passedOver: passed,
      },
    ]
  })
}

/** In ten-thousandths. Rounding alone says neither that each call has somebody nor that none has. */
const shareOf = (part: number, whole: number): number =>
  part === 0 || part === whole
    ? (part / whole) * 10_000
    : Math.min(Math.max(Math.round((part * 10_000) / whole), 1), 9_999)

/**
 * The pathway for which a layer counts: the one that the directory declares, where the calls' own pathway only follows
 * from the layer's name. A pathway that the calls themselves tell (a batch, an agent's step, a connector) stays.
 */
function countedOn({ pathway, layer }: SeenLayer, declared: readonly SourceEntry[]): string {
  return pathway === pathwayOfLayer(layer) ? declaredPathwayOf(layer, pathway, declared) : pathway
}

function declaredPathwayOf(layer: string, pathway: string, declared: readonly SourceEntry[]): string {
  return declared.find(({ name, is_discovery_only }) => name === layer && !is_discovery_only)?.pathway ?? pathway
}

const newestOf = (seen: readonly { readonly lastEventAtMs: number }[]): number | undefined =>
  seen.length === 0 ? undefined : Math.max(...seen.map(({ lastEventAtMs }) => lastEventAtMs))

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
