import { type LogRange, readLogToItsEnd } from '../broker/log.js'
import { partitionsHeld } from '../broker/partitions.js'
import type { PlannedLogDeps } from '../broker/planned-log.js'
import { workloadHashes } from '../directory/directory.js'
import type { identityKeysCache } from '../ids/ids.js'
import { memoryShareBytes } from '../process/memory.js'
import { insertsOfLog } from '../store/log-sink.js'
import { lastWeightsInstant, resolvedCosts } from '../store/queries/attribution/allocation-weights.js'
import { recordSourcesOf, recordSourcesSince } from '../store/queries/records/sources.js'
import { ALLOCATION_WEIGHTS } from '../store/tables/allocation-weights.js'
import { heldFinder } from './actor/held-invocations.js'
import { loadSeenEvents } from './actor/load-seen.js'
import type { Stage } from './actor/stage.js'
import type { AllocationDeps } from './pools/allocate.js'
import { trailingWeights } from './pools/trailing-weights.js'
import type { RowDeps } from './records/row.js'
import { type StageADeps, stageA } from './stages/a/stage-a.js'
import { type InferenceDeps, type OpenInference, openInference } from './stages/b/open-stage-b.js'
import { stageC } from './stages/c/stage-c.js'
import { loadTraces } from './stages/t/load-traces.js'
import { stageT } from './stages/t/stage-t.js'

/**
 * Share of the memory that the filters of all partitions together may take by which the facts stage recognises old
 * repeats.
 */
const SEEN_FILTERS_SHARE = 1 / 8

export interface StagesDeps extends InferenceDeps {
  /** Of INVOCATIONS. */
  readonly logId: number
  readonly logDeps: PlannedLogDeps
  /** Of the log. */
  readonly partitions: number
  readonly identityKeyOf: ReturnType<typeof identityKeysCache>
}

/** The stages, and the parts of them with which a re-attribution builds its own. */
export interface OpenStages {
  readonly stages: readonly Stage[]
  readonly inference: OpenInference
  readonly rowDeps: Omit<RowDeps, 'isIndexStale'>
  readonly facts: Pick<StageADeps, 'directory' | 'mappingOf' | 'settingsOf' | 'policyOf' | 'isIndexStale'>
  readonly allocation: AllocationDeps & Pick<RowDeps, 'isIndexStale'>
}

export async function openStages(deps: StagesDeps, signal: AbortSignal): Promise<OpenStages> {
  const { store, reference, logId, logDeps } = deps
  const { directory, rules, pools, settingsOf } = reference
  const inference = await openInference(deps, signal)
  const rowDeps = {
    logId,
    consumptionOf: reference.consumptionOf,
    identityKeyOf: deps.identityKeyOf,
    identityNameOf: (tenantId: string, stated: string) => directory.identity(tenantId, stated)?.name ?? stated,
    residencyRegionOf: (tenantId: string) => settingsOf(tenantId).residency_region,
    dimensionsOf: (tenantId: string) => settingsOf(tenantId).dimensions,
  }
  const policyOf = (tenantId: string) => pools.of(tenantId)
  const facts = {
    directory,
    mappingOf: (tenantId: string) => rules.of(tenantId),
    settingsOf,
    policyOf,
    isIndexStale: () => reference.directoryCopy.isIndexStale() || reference.rulesCopy.isIndexStale(),
  }
  const allocation = {
    ...reference.poolsCopy,
    degradationOf: (tenantId: string) => inference.board.of(tenantId).state,
    policyOf,
    weightsAsOf: openWeights(deps, signal),
  }
  // An event that is overlooked there becomes two records, or a call lacks its trace.
  const readLog = (range: LogRange) => readLogToItsEnd(deps.broker.manager, range)
  const seenDeps = {
    findHeld: heldFinder({
      readLog,
      checkpoints: logDeps.checkpoints,
      partitions: () => partitionsHeld(deps.broker.manager, deps.partitions),
    }),
    clock: logDeps.clock,
    logId,
    partitions: deps.partitions,
    recordSourcesSince: (partition: number, sinceMs: number) =>
      recordSourcesSince(store, { partition, partitions: deps.partitions }, sinceMs),
    recordSourcesOf: (ids: readonly Uint8Array[], sinceMs: number) => recordSourcesOf(store, ids, sinceMs),
    filterBytesMax: () => memoryShareBytes(SEEN_FILTERS_SHARE) / Math.max(1, ownedPartitions(deps)),
  }
  const traceDeps = { ...allocation, ...facts, readLog, log: deps.log }
  const stages = [
    stageA({
      ...rowDeps,
      ...facts,
      partitions: deps.partitions,
      loadSeen: (partition) => loadSeenEvents(partition, seenDeps),
    }),
    stageT({ ...rowDeps, ...facts, loadTraces: (...mailbox) => loadTraces(...mailbox, traceDeps) }),
    inference.stage(rowDeps),
    stageC({ ...rowDeps, ...allocation }),
  ]
  return { stages, inference, rowDeps, facts, allocation }
}

function ownedPartitions({ logDeps, partitions }: StagesDeps): number {
  let owned = 0
  for (let partition = 0; partition < partitions; partition++) {
    if (logDeps.isOwner(`a.${partition}`)) owned++
  }
  return owned
}

/** The weights by which pools are spread. */
function openWeights(deps: StagesDeps, signal: AbortSignal): AllocationDeps['weightsAsOf'] {
  const { store, reference, logId, identityKeyOf, log } = deps
  return trailingWeights({
    costsOf: (tenantId, window, limit) => {
      const workloads = workloadHashes(reference.directory, tenantId, identityKeyOf(tenantId))
      return resolvedCosts(store, tenantId, window, limit, workloads, reference.settingsOf(tenantId).min_cohort)
    },
    keep: insertsOfLog(store, ALLOCATION_WEIGHTS, logId),
    lastKept: (tenantId, byMs) => lastWeightsInstant(store, tenantId, byMs),
    failed(tenantId, asOfMs, cause) {
      // A query in flight at the stop is cut off; the next process that needs the weights computes them.
      if (signal.aborted) return
      log.error({ tenantId, asOf: new Date(asOfMs), err: cause }, 'the weights of cost pools could not be computed')
    },
  })
}
