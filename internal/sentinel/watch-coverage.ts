import { isDeepStrictEqual } from 'node:util'
import type { Records } from '../broker/records.js'
import { type AnnounceDeps, announceOnce } from './announce.js'
import { type AwaitedLayer, awaitedLayers, isStillAwaited, type TenantCoverage } from './coverage/awaited-layers.js'
import { PATHWAYS, type PathwayCoverage } from './coverage/coverage.js'

/** How a pathway stands, as it is kept in the bucket `coverage_states`. */
export interface CoverageState {
  readonly isDegraded: boolean
  /** As the last change tells: when it degraded, or until it was restored. */
  readonly layersMissing: readonly string[]
  /** What it takes for a pathway that is degraded to be restored; absent where an earlier version has written it. */
  readonly awaited?: readonly AwaitedLayer[]
  /** How often it has changed. */
  readonly changes: number
  /** Whether the last change was told; absent where an earlier version has written it: its announcement knows. */
  readonly isAnnounced?: boolean
}

const NEVER_DEGRADED: CoverageState = { isDegraded: false, layersMissing: [], changes: 0, isAnnounced: true }

/** Looks in a row that must agree before a change counts, so that a layer that comes and goes is no news each time. */
const LOOKS = 3

/** What a sentinel has seen of a pathway in its last looks. */
export type Streaks = Map<string, { readonly isDegraded: boolean; readonly looks: number }>

/**
 * Tells when a pathway's coverage degrades and when it is restored: each change once it is kept and before the next is,
 * also when the sentinel that wrote it down died in between.
 *
 * @param streaks of this process; another one begins to count anew
 */
export async function watchCoverage(
  tenantId: string,
  coverage: TenantCoverage,
  streaks: Streaks,
  states: Records<CoverageState>,
  deps: AnnounceDeps,
): Promise<void> {
  // Also those of which nothing is known any more: they may be degraded.
  for (const pathway of PATHWAYS) {
    const key = `${tenantId}.${pathway}`
    const tell = (state: CoverageState) => announce(tenantId, pathway, state, states, deps)
    const state = (await states.read(key)) ?? NEVER_DEGRADED
    if (!state.isAnnounced) await tell(state)

    const awaited = awaitedLayers(state.awaited ?? [], pathway, coverage)
    const isDegraded = awaited.some((layer) => isStillAwaited(layer, pathway, coverage))
    const before = streaks.get(key)
    const looks = before?.isDegraded === isDegraded ? before.looks + 1 : 1
    streaks.set(key, { isDegraded, looks })
    const hasChanged = looks >= LOOKS && state.isDegraded !== isDegraded
    if (!hasChanged && (!state.isDegraded || isDeepStrictEqual(awaited, state.awaited))) continue

    if (state === NEVER_DEGRADED) await states.createOnce(key, state)
    const kept = await states.change(key, (found) => {
      if (found.changes !== state.changes) return undefined // another sentinel's change
      return hasChanged ? changed(found, awaited, isDegraded) : { ...found, awaited }
    })
    if (kept?.isAnnounced === false) await tell(kept)
  }
}

/** The state as it is after it has become another. */
function changed(
  { layersMissing, changes }: CoverageState,
  awaited: readonly AwaitedLayer[],
  isDegraded: boolean,
): CoverageState {
  const layers = new Set([...(isDegraded ? [] : layersMissing), ...awaited.map(({ name }) => name)])
  const told = { isDegraded, layersMissing: [...layers].sort(), changes: changes + 1, isAnnounced: false }
  return isDegraded ? { ...told, awaited } : told
}

/** The announcement keeps others from telling it meanwhile; it expires, and the state does not. */
async function announce(
  tenantId: string,
  pathway: PathwayCoverage['pathway'],
  { isDegraded, layersMissing, changes }: CoverageState,
  states: Records<CoverageState>,
  deps: AnnounceDeps,
): Promise<void> {
  await announceOnce(
    `${tenantId}.coverage.${pathway}.${changes}`,
    async () => ({
      tenantId,
      type: isDegraded ? ('coverage.degraded' as const) : ('coverage.restored' as const),
      cause: `${pathway} ${changes}`,
      data: { pathway, layers_missing: [...layersMissing] },
    }),
    deps,
  )
  await states.change(`${tenantId}.${pathway}`, (found) =>
    found.changes === changes ? { ...found, isAnnounced: true } : undefined,
  )
}
