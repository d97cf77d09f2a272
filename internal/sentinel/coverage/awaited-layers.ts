import type { SourceEntry } from '../../records/capture-source.js'
import type { PathwayCategory } from '../../records/interpretation.js'
import type { PathwayCoverage } from './coverage.js'

/** A layer that has been missing since its pathway degraded. */
export interface AwaitedLayer {
  readonly name: string
  /** Whether the directory has held it as a layer of the pathway meanwhile, so that it can be removed from there. */
  readonly isDeclared: boolean
}

/** A tenant's coverage, and the sources of the directory by which it was worked out. */
export interface TenantCoverage {
  /** Those of which anything is known. */
  readonly pathways: readonly PathwayCoverage[]
  readonly sources: readonly SourceEntry[]
}

/** The layers that were awaited, and those that are missing now. */
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
 * Whether a layer that is awaited has neither come back nor been given up by the tenant. That it was away for so long
 * that nothing expects it any more is no reason to stop waiting: nothing covers the pathway in its place.
 */
export function isStillAwaited(
  { name, isDeclared }: AwaitedLayer,
  pathway: PathwayCategory,
  { pathways, sources }: TenantCoverage,
): boolean {
  const coverage = pathways.find((each) => each.pathway === pathway)
  if (coverage?.layersMissing.includes(name)) return true
  if (coverage?.layersDeployed.includes(name)) return false
  if (sources.some((source) => source.name === name && source.is_discovery_only)) return false
  // Were it in the directory still, it would be missing.
  return !isDeclared
}

const nameOf = ({ name }: { readonly name: string }): string => name
