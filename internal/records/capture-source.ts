import type { PathwayCategory } from './interpretation.js'

/** Where the tenant's events come from: a capture layer, or what only discovers that there is traffic. */
export interface SourceEntry {
  readonly name: string
  /** On which its layer is expected. */
  readonly pathway?: PathwayCategory
  /** It names traffic and never single calls: nothing that it sends becomes a record. */
  readonly is_discovery_only?: true
}
