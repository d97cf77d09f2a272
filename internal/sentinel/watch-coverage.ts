import { isDeepStrictEqual } from 'node:util'
import type { Records } from '../broker/records.js'
import type { PathwayCategory } from '../records/interpretation.js'
import { type AnnounceDeps, announceOnce } from './announce-findings.js'
import { type AwaitedLayer, awaitedLayers, isStillAwaited, type TenantCoverage } from './coverage/awaited-layers.js'
import { PATHWAYS } from './coverage/coverage.js'

/** Coverage state of a pathway in the bucket `coverage_states`. */
export interface CoverageState {
  readonly isDegraded: boolean
  /** As of the last change: the layers missing when it degraded, or until it was restored. */
  readonly layersMissing: readonly string[]
  /** Of these, at the last restoration, the layers that send calls again; absent while it is degraded. */
  readonly layersRestored?: readonly string[]
  /** The layers that a degraded pathway waits for; absent once it is restored. */
  readonly awaited?: readonly AwaitedLayer[]
  /** Number of changes so far. */
  readonly changes: number
  /** Whether the event of the last change was emitted. */
  readonly isAnnounced: boolean
}

const NEVER_DEGRADED: CoverageState = { isDegraded: false, layersMissing: [], changes: 0, isAnnounced: true }

/**
 * Consecutive checks that must agree before a change counts, so that a flapping layer does not emit an event each time.
 */
const CHECKS_MIN = 3

/** Results of a sentinel's last checks, per pathway. */
export type Streaks = Map<string, { readonly isDegraded: boolean; readonly checks: number }>

/**
 * Emits `coverage.degraded` and `coverage.restored`. Each change is stored first, and its event emitted before the next
 * change is stored, even if the sentinel crashes in between.
 *
 * @param streaks of this process; a new owner of the tenant starts counting from zero
 */
export async function watchCoverage(
  tenantId: string,
  coverage: TenantCoverage,
  streaks: Streaks,
  states: Records<CoverageState>,
  deps: AnnounceDeps,
): Promise<void> {
  // All pathways, even those without current data: they may be degraded.
  for (const pathway of PATHWAYS) {
    const key = `${tenantId}.${pathway}`
    const emit = (state: CoverageState) => announce(tenantId, pathway, state, states, deps)
    const state = (await states.read(key)) ?? NEVER_DEGRADED
    if (!state.isAnnounced) await emit(state)

    const awaited = awaitedLayers(state.awaited ?? [], pathway, coverage)
    const isDegraded = awaited.some((layer) => isStillAwaited(layer, pathway, coverage))
    const before = streaks.get(key)
    const checks = before?.isDegraded === isDegraded ? before.checks + 1 : 1
    streaks.set(key, { isDegraded, checks })
    const hasChanged = checks >= CHECKS_MIN && state.isDegraded !== isDegraded
    if (!hasChanged && (!state.isDegraded || isDeepStrictEqual(awaited, state.awaited))) continue

    if (state === NEVER_DEGRADED) await states.createOnce(key, state)
    const stored = await states.change(key, (found) => {
      if (found.changes !== state.changes) return undefined // another sentinel's change
      return hasChanged ? changed(found, awaited, isDegraded, deployedOn(pathway, coverage)) : { ...found, awaited }
    })
    if (stored?.isAnnounced === false) await emit(stored)
  }
}

/** The state after a change. */
function changed(
  { layersMissing, changes }: CoverageState,
  awaited: readonly AwaitedLayer[],
  isDegraded: boolean,
  deployed: readonly string[],
): CoverageState {
  const layers = new Set([...(isDegraded ? [] : layersMissing), ...awaited.map(({ name }) => name)])
  const next = { isDegraded, layersMissing: [...layers].sort(), changes: changes + 1, isAnnounced: false }
  if (isDegraded) return { ...next, awaited }
  return { ...next, layersRestored: next.layersMissing.filter((layer) => deployed.includes(layer)) }
}

const deployedOn = (pathway: PathwayCategory, { pathways }: TenantCoverage): readonly string[] =>
  pathways.find((each) => each.pathway === pathway)?.layersDeployed ?? []

/** The announcement prevents duplicates from other sentinels meanwhile; unlike the state, it expires. */
async function announce(
  tenantId: string,
  pathway: PathwayCategory,
  state: CoverageState,
  states: Records<CoverageState>,
  deps: AnnounceDeps,
): Promise<void> {
  const { isDegraded, changes } = state
  const layersMissing = [...state.layersMissing]
  const layersRestored = [...(state.layersRestored ?? layersMissing)]
  const common = { tenantId, cause: `${pathway} ${changes}` }
  await announceOnce(
    `${tenantId}.coverage.${pathway}.${changes}`,
    async () =>
      isDegraded
        ? { ...common, type: 'coverage.degraded', data: { pathway, layers_missing: layersMissing } }
        : {
            ...common,
            type: 'coverage.restored',
            data: {
              pathway,
              layers_missing: layersMissing,
              layers_restored: layersRestored,
              layers_removed: layersMissing.filter((layer) => !layersRestored.includes(layer)),
            },
          },
    deps,
  )
  await states.change(`${tenantId}.${pathway}`, (found) =>
    found.changes === changes ? { ...found, isAnnounced: true } : undefined,
  )
}
