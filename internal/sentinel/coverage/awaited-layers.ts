import type { SourceEntry } from '../../records/capture-source.js'
import type { PathwayCategory } from '../../records/interpretation.js'
import type { PathwayCoverage } from './coverage.js'

/** A layer that has been missing since its pathway degraded. */
export interface AwaitedLayer {
  readonly name: string
  /**
   * Whether the directory has declared it as a layer of the pathway since then, so that the tenant can remove it there.
   */
  readonly isDeclared: boolean
}

/** A tenant's coverage, and the directory sources from which it was computed. */
export interface TenantCoverage {
  /** Pathways with data. */
  readonly pathways: readonly PathwayCoverage[]
  readonly sources: readonly SourceEntry[]
}

/** The layers awaited before, and those missing now. */
export function awaitedLayers(
  before: readonly AwaitedLayer[],
  pathway: PathwayCategory,
  { pathways, sources }: TenantCoverage,
): AwaitedLayer[] {
  const missing = pathways.find((each) => each.pathway === pathway)?.layersMissing ?? []
  const names = new Set([...before.map(({ name }) => name), ...missing])
  const declared = new Set(sources.filter((each) => each.pathway === pathway && !each.is_discovery_only).map(nameOf))
  const declaredBefore = new Set(before.filter(({ isDeclared }) => isDeclared).map(nameOf))
  return [...names].map((name) => ({ name, isDeclared: declared.has(name) || declaredBefore.has(name) }))
}

/**
 * Whether an awaited layer has neither resumed sending nor been removed by the tenant. A layer silent for so long that
 * it is no longer expected is still awaited: nothing else covers the pathway in its place.
 */
export function isStillAwaited(
  { name, isDeclared }: AwaitedLayer,
  pathway: PathwayCategory,
  { pathways, sources }: TenantCoverage,
): boolean {
  const coverage = pathways.find((each) => each.pathway === pathway)
  if (coverage?.layersMissing.includes(name)) return true
  if (coverage?.layersDeployed.includes(name)) return false
  const source = sources.find((each) => each.name === name)
  if (source?.is_discovery_only) return false
  // The directory declares the layer for another pathway: its calls count there.
  if (source?.pathway !== undefined && source.pathway !== pathway) return false
  // If the directory still declared it, it would be among the missing layers.
  return !isDeclared
}

const nameOf = ({ name }: { readonly name: string }): string => name
