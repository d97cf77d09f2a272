import type { Records } from '../broker/records.js'
import type { PathwayCoverage } from '../coverage/coverage.js'
import { type AnnounceDeps, announceOnce } from './announce.js'

/** How a pathway stands, as it is kept in the bucket `coverage_states`. */
export interface CoverageState {
  readonly isDegraded: boolean
  readonly layersMissing: readonly string[]
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
  pathways: readonly PathwayCoverage[],
  streaks: Streaks,
  states: Records<CoverageState>,
  deps: AnnounceDeps,
): Promise<void> {
  for (const { pathway, layersMissing } of pathways) {
    const key = `${tenantId}.${pathway}`
    const tell = (state: CoverageState) => announce(tenantId, pathway, state, states, deps)
    const isDegraded = layersMissing.length > 0
    const before = streaks.get(key)
    const looks = before?.isDegraded === isDegraded ? before.looks + 1 : 1
    streaks.set(key, { isDegraded, looks })
    const state = (await states.read(key)) ?? NEVER_DEGRADED
    if (!state.isAnnounced) await tell(state)
    if (looks < LOOKS || state.isDegraded === isDegraded) continue
    if (state === NEVER_DEGRADED) await states.createOnce(key, state)
    // What is missing now, or was until now.
    const layers = isDegraded ? layersMissing : state.layersMissing
    const changed = { isDegraded, layersMissing: layers, changes: state.changes + 1, isAnnounced: false }
    const kept = await states.change(key, (found) => (found.changes === state.changes ? changed : undefined))
    // Another sentinel's change is told by that one, or at the next look.
    if (kept === changed) await tell(changed)
  }
}

/** The announcement keeps others from telling it meanwhile; it expires, and the state does not. */
async function announce(
  tenantId: string,
  pathway: string,
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
