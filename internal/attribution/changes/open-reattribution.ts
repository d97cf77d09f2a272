import type { ClickHouseClient } from '@clickhouse/client'
import { REATTRIBUTIONS } from '../../../streams/buckets.js'
import type { Broker } from '../../broker/connect.js'
import type { Publisher } from '../../broker/publisher.js'
import { bucketRecords } from '../../broker/records.js'
import { identityHash } from '../../ids/identity-hash.js'
import { idHex } from '../../ids/ids.js'
import { placeBehind, rowsValidFrom, tracePeers, undecidedRows } from '../../store/queries/records/slices.js'
import type { Stage } from '../actor/stage.js'
import type { WatchedDirectory } from '../directory/directory.js'
import type { AllocationDeps } from '../pools/allocate.js'
import type { RowDeps } from '../records/row.js'
import { PartitionTraces } from '../stages/a/partition-traces.js'
import { type StageADeps, stageA } from '../stages/a/stage.js'
import { stageC } from '../stages/c/stage.js'
import type { ReattributionJob } from './job.js'
import { slicePublisher } from './publish.js'
import { keptConsumption } from './recall.js'
import type { SliceDeps } from './slice.js'

export interface ReattributionDeps {
  readonly broker: Broker
  readonly store: ClickHouseClient
  readonly publish: Publisher['publish']
  readonly directory: WatchedDirectory
  readonly directoryReached: SliceDeps['directoryReached']
  readonly rowDeps: Omit<RowDeps, 'isIndexStale'>
  readonly facts: Pick<StageADeps, 'directory' | 'settingsOf' | 'policyOf' | 'isIndexStale'>
  readonly stageB: (rowDeps: Omit<RowDeps, 'isIndexStale'>) => Stage
  readonly allocation: AllocationDeps & Pick<RowDeps, 'isIndexStale'>
}

/** Connects the dependencies of reattribution slices: the current stages, without memory of events they have seen. */
export async function openReattribution(
  deps: ReattributionDeps,
): Promise<Omit<SliceDeps, 'insert' | 'close' | 'announce'>> {
  const { broker, store, publish, directory, directoryReached, rowDeps, facts, stageB, allocation } = deps
  return {
    jobs: bucketRecords<ReattributionJob>(await broker.bucket(REATTRIBUTIONS), async () => undefined),
    placeBehind: (...args) => placeBehind(store, ...args),
    undecidedRows: (...args) => undecidedRows(store, ...args),
    tracePeers: (...args) => tracePeers(store, ...args),
    rowsValidFrom: (...args) => rowsValidFrom(store, ...args),
    directoryReached,
    identityNames: (tenantId) => directory.identityNames(tenantId),
    hashOf: (tenantId, identity) => idHex(identityHash(rowDeps.identityKeyOf(tenantId), identity)),
    publishSlice: slicePublisher(publish),
    consumptionOf: rowDeps.consumptionOf,
    stages(rowOf) {
      const kept = {
        ...rowDeps,
        consumptionOf: (admitted: Parameters<typeof rowOf>[0]) => keptConsumption(rowOf(admitted)),
      }
      return [
        stageA({
          ...kept,
          ...facts,
          loadSeen: async () => ({ duplicatesIn: async (events) => events.map(() => false) }),
          loadTraces: async () => new PartitionTraces({ ...allocation, directory }),
        }),
        stageB(kept),
        stageC({ ...kept, ...allocation }),
      ]
    },
  }
}
