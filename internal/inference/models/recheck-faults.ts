import { setTimeout as sleep } from 'node:timers/promises'
import type { LoadedModel } from './artefacts.js'
import type { StoredModel } from './model-version.js'
import type { ServingBoard } from './serving-board.js'

export interface RecheckDeps {
  readonly board: ServingBoard
  readonly load: (version: StoredModel) => Promise<LoadedModel>
  readonly owns: (key: string) => boolean
}

const EVERY_MS = 10_000

/**
 * Retries artefacts that could not be loaded, until `signal` aborts. A version whose artefact loads is cleared of its
 * fault and serves again.
 */
export async function recheckFaults(deps: RecheckDeps, signal: AbortSignal, everyMs = EVERY_MS): Promise<void> {
  while (!signal.aborted) {
    await sleep(everyMs, undefined, { signal }).catch(() => undefined)
    for (const tenantId of [...deps.board.tenantsWithFaults()]) {
      if (signal.aborted) return
      await recheck(tenantId, deps)
    }
  }
}

async function recheck(tenantId: string, { board, load, owns }: RecheckDeps): Promise<void> {
  if (!owns(`degradation.${tenantId}`)) return
  const fault = board.faultOf(tenantId)
  // Only predictions for events show whether a slow version is fast enough again.
  if (fault === undefined || fault.kind === 'slow') return
  const version = board.version(fault.model_id)
  if (version !== undefined && (await load(version)).kind === 'model') board.clearFault(version)
}
