import type { PathwayCoverage } from '../../sdk/api.js'

/** A row of `GET /api/v1/coverage`, as far as the console reads it. */
export type Pathway = Omit<PathwayCoverage, 'passed_over'>

/** What a capture layer does on a pathway. */
export type Cell = 'deployed' | 'missing' | 'discovery' | 'none'

/** Every layer that any pathway knows, by name: the columns of the map. */
export const layersOf = (pathways: readonly Pathway[]): readonly string[] =>
  [
    ...new Set(pathways.flatMap((each) => [...each.layers_deployed, ...each.layers_missing, ...each.discovery_only])),
  ].sort()

/** A layer that is missing on a pathway is so, whatever else it does there. */
export function cellOf(pathway: Pathway, layer: string): Cell {
  if (pathway.layers_missing.includes(layer)) return 'missing'
  if (pathway.layers_deployed.includes(layer)) return 'deployed'
  return pathway.discovery_only.includes(layer) ? 'discovery' : 'none'
}
