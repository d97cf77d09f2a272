import type { KV } from '@nats-io/kv'
import { isLostRace } from '../broker/errors.js'
import type { PathwayCoverage } from '../coverage/coverage.js'
import { type AnnounceDeps, announceOnce, isAnnounced } from './announce.js'

/** How a pathway stands, as it is kept in the bucket `coverage_states`. */
interface CoverageState {
  readonly isDegraded: boolean
  readonly layersMissing: readonly string[]
  /** How often it has changed. */
  readonly changes: number
}

/** Looks in a row that must agree before a change counts, so that a layer that comes and goes is no news each time. */
const LOOKS = 3

/** What a sentinel has seen of a pathway in its last looks. */
export type Streaks = Map<string, { readonly isDegraded: boolean; readonly looks: number }>

/**
 * Tells when a pathway's coverage degrades and when it is restored.
 *
 * @param streaks of this process; another one begins to count anew
 */
export async function watchCoverage(
  tenantId: string,
  pathways: readonly PathwayCoverage[],
  streaks: Streaks,
  states: KV,
  deps: AnnounceDeps,
): Promise<void> {
  for (const { pathway, layersMissing } of pathways) {
    const key = `${tenantId}.${pathway}`
    const isDegraded = layersMissing.length > 0
    const before = streaks.get(key)
    const looks = before?.isDegraded === isDegraded ? before.looks + 1 : 1
    streaks.set(key, { isDegraded, looks })
    const entry = await states.get(key)
    let state: CoverageState =
      entry?.operation === 'PUT' ? entry.json() : { isDegraded: false, layersMissing: [], changes: 0 }
    if (looks >= LOOKS && state.isDegraded !== isDegraded) {
      // What is missing now, or was until now.
      const layers = isDegraded ? layersMissing : state.layersMissing
      state = { isDegraded, layersMissing: layers, changes: state.changes + 1 }
      try {
        const text = JSON.stringify(state)
        await (entry === null ? states.create(key, text) : states.update(key, text, entry.revision))
      } catch (cause) {
        if (!isLostRace(cause)) throw cause
        continue
      }
    }
    await tell(tenantId, pathway, state, deps)
  }
}

/** Also what a sentinel that died has written down and not told. */
async function tell(
  tenantId: string,
  pathway: string,
  { isDegraded, layersMissing, changes }: CoverageState,
  deps: AnnounceDeps,
): Promise<void> {
  const key = `${tenantId}.coverage.${pathway}.${changes}`
  if (changes === 0 || (await isAnnounced(key, deps))) return
  await announceOnce(
    key,
    async () => ({
      tenantId,
      type: isDegraded ? ('coverage.degraded' as const) : ('coverage.restored' as const),
      cause: `${pathway} ${changes}`,
      data: { pathway, layers_missing: [...layersMissing] },
    }),
    deps,
  )
}
