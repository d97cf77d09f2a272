import { eachInvocation, type Stage } from '../../actor/stage.js'
import { type AllocationDeps, allocate, pooledCall } from '../../pools/allocate.js'
import { type RowDeps, toRow } from '../../records/row.js'

export interface StageCDeps extends RowDeps, AllocationDeps {}

/**
 * Stage C: allocation. Mailbox `invocations.c.<partition>`. What no stage before could resolve is kept in the pool that
 * a rule of the tenant names, else in the default pool, unresolved; nothing is guessed.
 */
export const stageC = (deps: StageCDeps): Stage => ({
  name: 'c',
  next: undefined,
  open: async (partition) => ({
    async handle({ invocations, validFromMs }) {
      const tenantIds = [...new Set(invocations.map(({ tenantId }) => tenantId))]
      const instants = tenantIds.map(
        async (tenantId) => [tenantId, await deps.weightsAsOf(tenantId, validFromMs)] as const,
      )
      const weightsAsOf = new Map(await Promise.all(instants))
      return eachInvocation(invocations, (admitted) => {
        const { tenantId, principal, invocation } = admitted
        const verdict = allocate(tenantId, pooledCall(invocation, principal), weightsAsOf.get(tenantId), deps)
        return toRow(admitted, verdict, { partition, validFromMs }, deps)
      })
    },
  }),
})
