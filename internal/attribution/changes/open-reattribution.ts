import type { ClickHouseClient } from '@clickhouse/client'
import { REATTRIBUTIONS } from '../../../streams/buckets.js'
import type { Broker } from '../../broker/connect.js'
import type { Publisher } from '../../broker/publisher.js'
import { bucketRecords } from '../../broker/records.js'
import type { WatchedDirectory } from '../../directory/directory.js'
import type { MappingPolicy, RuleDraft, WatchedRules } from '../../directory/mapping/mapping-policy.js'
import { identityHash } from '../../ids/identity-hash.js'
import { idHex } from '../../ids/ids.js'
import {
  placeClosedBy,
  rowsClosedBy,
  selectedPlace,
  selectedRows,
  versionsClosedBy,
} from '../../store/queries/records/selected-records.js'
import { placeBehind, rowsValidFrom, tracePeers, undecidedRows } from '../../store/queries/records/slices.js'
import type { Stage } from '../actor/stage.js'
import type { AllocationDeps } from '../pools/allocate.js'
import type { RowDeps } from '../records/row.js'
import { PartitionTraces } from '../stages/a/partition-traces.js'
import { type StageADeps, stageA } from '../stages/a/stage-a.js'
import { stageC } from '../stages/c/stage-c.js'
import { slicePublisher } from './publish-changes.js'
import type { ReattributionJob } from './reattribution-job.js'
import { keptConsumption } from './recall.js'
import type { SliceDeps } from './slice.js'

export interface ReattributionDeps {
  readonly broker: Broker
  readonly store: ClickHouseClient
  readonly publish: Publisher['publish']
  readonly directory: WatchedDirectory
  readonly directoryReached: SliceDeps['directoryReached']
  readonly rules: WatchedRules
  readonly rulesReached: SliceDeps['rulesReached']
  readonly rowDeps: Omit<RowDeps, 'isIndexStale'>
  readonly facts: Pick<StageADeps, 'directory' | 'mappingOf' | 'settingsOf' | 'policyOf' | 'isIndexStale'>
  readonly stageB: (rowDeps: Omit<RowDeps, 'isIndexStale'>) => Stage
  readonly allocation: AllocationDeps & Pick<RowDeps, 'isIndexStale'>
}

/** Connects the dependencies of reattribution slices: the current stages, without memory of events they have seen. */
export async function openReattribution(
  deps: ReattributionDeps,
): Promise<Omit<SliceDeps, 'insert' | 'close' | 'announce'>> {
  const { broker, store, publish, directory, rules, rowDeps, facts, stageB, allocation } = deps
  return {
    jobs: bucketRecords<ReattributionJob>(await broker.bucket(REATTRIBUTIONS), async () => undefined),
    placeBehind: (...args) => placeBehind(store, ...args),
    undecidedRows: (...args) => undecidedRows(store, ...args),
    tracePeers: (...args) => tracePeers(store, ...args),
    selectedPlace: (...args) => selectedPlace(store, ...args),
    selectedRows: (...args) => selectedRows(store, ...args),
    placeClosedBy: (...args) => placeClosedBy(store, ...args),
    rowsClosedBy: (...args) => rowsClosedBy(store, ...args),
    versionsClosedBy: (...args) => versionsClosedBy(store, ...args),
    rowsValidFrom: (...args) => rowsValidFrom(store, ...args),
    directoryReached: deps.directoryReached,
    rulesReached: deps.rulesReached,
    identityNames: (tenantId) => [...directory.identityNames(tenantId), ...rules.identities(tenantId)],
    hashOf: (tenantId, identity) => idHex(identityHash(rowDeps.identityKeyOf(tenantId), identity)),
    publishSlice: slicePublisher(publish),
    consumptionOf: rowDeps.consumptionOf,
    stages(rowOf, draft) {
      const kept = {
        ...rowDeps,
        consumptionOf: (admitted: Parameters<typeof rowOf>[0]) => keptConsumption(rowOf(admitted)),
      }
      return [
        stageA({
          ...kept,
          ...facts,
          mappingOf: mappingWith(draft, rules),
          loadSeen: async () => ({ duplicatesIn: async (events) => events.map(() => false) }),
          unconfirmed: { upToNow: async () => undefined, mayHave: () => false },
          otherPartitions: () => ({ haveFirst: async (events) => events.map(() => false), forget: () => undefined }),
          loadTraces: async () => new PartitionTraces({ ...allocation, directory }),
        }),
        stageB(kept),
        stageC({ ...kept, ...allocation }),
      ]
    },
  }
}

/** The tenants' rules with a draft in place; one slice asks for those of one tenant only. */
function mappingWith(draft: RuleDraft | undefined, rules: WatchedRules): StageADeps['mappingOf'] {
  if (draft === undefined) return (tenantId) => rules.of(tenantId)
  let policy: MappingPolicy | undefined
  return (tenantId) => {
    policy ??= rules.with(draft, tenantId)
    return policy
  }
}
