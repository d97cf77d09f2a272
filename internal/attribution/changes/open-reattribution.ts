import { REATTRIBUTIONS } from '../../../streams/buckets.js'
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
import type { OpenStages, StagesDeps } from '../open-stages.js'
import type { StoredPool } from '../pools/pool.js'
import type { AllocationPolicy, WatchedPools } from '../pools/pool-policy.js'
import { type StageADeps, stageA } from '../stages/a/stage-a.js'
import { stageC } from '../stages/c/stage-c.js'
import { PartitionTraces } from '../stages/t/partition-traces.js'
import { stageT } from '../stages/t/stage-t.js'
import type { EntryDraft } from './answer.js'
import { slicePublisher } from './publish-changes.js'
import type { ReattributionJob } from './reattribution-job.js'
import { keptConsumption } from './recall.js'
import type { SliceDeps } from './slice.js'

/** Connects the dependencies of reattribution slices: the current stages, without memory of events they have seen. */
export async function openReattribution(
  {
    broker,
    store,
    publish,
    log,
    reference: {
      directory,
      directoryCopy,
      pools,
      poolsCopy,
      rules,
      rulesCopy,
      conventions,
      conventionsCopy,
      pricesReached,
      consumptionOf,
    },
  }: Pick<StagesDeps, 'broker' | 'store' | 'reference' | 'log'> & Pick<Publisher, 'publish'>,
  { inference, rowDeps, facts, allocation }: OpenStages,
): Promise<Omit<SliceDeps, 'insert' | 'close' | 'announce'>> {
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
    directoryReached: directoryCopy.reached,
    entriesReached: ({ kind, revision }) => (kind === 'pools' ? poolsCopy : directoryCopy).reached(revision),
    rulesReached: rulesCopy.reached,
    conventionsReached: conventionsCopy.reached,
    pricesReached,
    identityNames: (tenantId) => [...directory.identityNames(tenantId), ...rules.identities(tenantId)],
    hashOf: (tenantId, identity) => idHex(identityHash(rowDeps.identityKeyOf(tenantId), identity)),
    publishSlice: slicePublisher(publish),
    consumptionOf,
    consumptionWith(draft, tenantId) {
      const tried = conventions.with(draft, tenantId)
      return (admitted) => consumptionOf(admitted, tried)
    },
    stages(rowOf, { rule, entry }) {
      const kept = {
        ...rowDeps,
        consumptionOf: (admitted: Parameters<typeof rowOf>[0]) => keptConsumption(rowOf(admitted)),
      }
      const tried = triedOf(entry, directory, pools)
      const ofDraft = { ...kept, ...facts, ...tried, mappingOf: mappingWith(rule, rules) }
      return [
        stageA({
          ...ofDraft,
          partitions: 1,
          loadSeen: async () => ({ duplicatesIn: async (events) => events.map(() => false) }),
        }),
        stageT({ ...ofDraft, loadTraces: async () => new PartitionTraces({ ...allocation, ...tried, log }) }),
        inference.stage(kept, tried.directory),
        stageC({ ...kept, ...allocation, ...tried }),
      ]
    },
  }
}

/** The directory and the pools with an entry as it would be; one slice asks for those of its tenant only. */
function triedOf(entry: EntryDraft | undefined, directory: WatchedDirectory, pools: WatchedPools) {
  if (entry?.kind !== 'pools') {
    const tried = entry === undefined ? directory : directory.with(entry.key, entry.entry ?? undefined)
    return { directory: tried, policyOf: (tenantId: string) => pools.of(tenantId) }
  }
  const pool = (entry.entry ?? undefined) as StoredPool | undefined
  let policy: AllocationPolicy | undefined
  return {
    directory,
    policyOf(tenantId: string) {
      policy ??= pools.with(entry.key, pool, tenantId)
      return policy
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
