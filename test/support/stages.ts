/** The inputs of a stage besides its rule: a batch of events, and the dependencies that turn a verdict into a row. */
import type { Batch } from '../../internal/attribution/actor/batch.js'
import type { Disposition, Stage } from '../../internal/attribution/actor/stage.js'
import type { AllocationDeps } from '../../internal/attribution/pools/allocate.js'
import { allocationPolicy } from '../../internal/attribution/pools/pool-policy.js'
import type { RowDeps } from '../../internal/attribution/records/row.js'
import { stageB } from '../../internal/attribution/stages/b/stage-b.js'
import { PartitionTraces } from '../../internal/attribution/stages/t/partition-traces.js'
import type { Directory } from '../../internal/directory/directory.js'
import { deriveTenantIds } from '../../internal/ids/ids.js'
import type { AdmittedInvocation } from '../../internal/invocations/invocation-group.js'
import { createLog } from '../../internal/telemetry/log.js'
import { zero } from '../../internal/units/quantity.js'
import { directoryOf } from './directory.js'
import { admitted, idOf, NOW_MS, type Stated } from './invocations.js'

/** Every call costs nothing; an event of the provider `broken` is poison. */
export const ROW_DEPS: RowDeps = {
  logId: 1_700_000_000,
  consumptionOf: ({ invocation }) => {
    if (invocation.provider === 'broken') throw new Error('no such provider')
    return {
      costUsd: zero<'USD'>(),
      costBasis: 'price_book',
      costDetails: '{}',
      isCostImplausible: false,
      costBound: '',
      isUnchargedBound: false,
      isUsageAmbiguous: false,
      energyWh: zero<'Wh'>(),
      energyBasis: 'unknown',
      carbonGco2e: zero<'gCO2e'>(),
      carbonBasis: 'unknown',
      footprintDetails: '{}',
    }
  },
  identityKeyOf: (tenantId) => deriveTenantIds(new Uint8Array(32), tenantId).sip,
  identityNameOf: (_, stated) => stated,
  residencyRegionOf: () => null,
  dimensionsOf: () => [],
  isIndexStale: () => false,
}

/** Stage C of a tenant without pools. */
export const STAGE_C_DEPS: RowDeps & AllocationDeps = {
  ...ROW_DEPS,
  policyOf: () => allocationPolicy([]),
  degradationOf: () => 'disabled',
  weightsAsOf: async () => Date.UTC(2026, 10, 3, 11),
}

/** The traces of a partition that has seen nothing yet. */
export const noTraces = (directory: Directory = directoryOf()): PartitionTraces =>
  new PartitionTraces({ ...STAGE_C_DEPS, directory, log: createLog('test', 'silent') })

export const batchOf = (
  stage: Batch['stage'],
  invocations: readonly AdmittedInvocation[],
  facts: Batch['facts'] = [],
): Batch => ({
  stage,
  partition: 2,
  token: 'token',
  validFromMs: NOW_MS + 1,
  invocations,
  facts,
})

/** The event with this number, at this index of its message. */
export const event = (number: number, index: number, invocation: Stated['invocation'] = {}): AdmittedInvocation =>
  admitted({ id: idOf(number), position: { sequence: 1, index }, invocation })

export const kindsOf = (dispositions: readonly Disposition[]): string[] => dispositions.map(({ kind }) => kind)

/** Stage B with inference disabled for all tenants: it passes every event to stage C. */
export function switchedOffStageB(directory: Pick<Directory, 'identity'> = directoryOf()): Stage {
  const unasked = (): never => {
    throw new Error('inference is disabled and must not be called')
  }
  return stageB({
    ...ROW_DEPS,
    board: { of: () => ({ state: 'disabled', model: undefined }), version: unasked },
    inference: { predict: unasked, probe: unasked, evaluateCandidate: unasked },
    baseline: { guess: unasked },
    directory: { service: unasked, serviceEntry: unasked, identity: (...asked) => directory.identity(...asked) },
    completeAsOf: unasked,
    ticks: () => performance.now(),
    neighbours: unasked,
    countShadow: unasked,
    log: createLog('test', 'silent'),
  })
}
