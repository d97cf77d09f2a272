import { eachInvocation, type Stage } from '../../actor/stage.js'
import { type AllocationDeps, allocate, pooledCall } from '../../pools/allocate.js'
import { type RowDeps, toRow } from '../../records/row.js'

/**
 * The pools stage (C): allocation. Mailbox `invocations.c.<partition>`. A call that no earlier stage could attribute
 * goes to the pool of the tenant's first matching rule, else to the default pool as unresolved; nothing is guessed.
 */
export const stageC = (deps: RowDeps & AllocationDeps): Stage => ({
  name: 'c',
  next: undefined,
  open: async (partition) => ({
    async handle({ invocations, validFromMs }) {
      const tenantIds = [...new Set(invocations.map(({ tenantId }) => tenantId))]
      const weights = tenantIds.map(
        async (tenantId) => [tenantId, await deps.weightsAsOf(tenantId, validFromMs)] as const,
      )
      const weightsAsOf = new Map(await Promise.all(weights))
      return eachInvocation(invocations, (admitted) => {
        const { tenantId, principal, invocation, traceServices } = admitted
        const statesIdentity = invocation.attributedIdentity !== undefined
        const call = { tenantId, traceServices, statesIdentity }
        const verdict = allocate(call, pooledCall(invocation, principal), weightsAsOf.get(tenantId), deps)
        return toRow(admitted, verdict, { partition, validFromMs }, deps)
      })
    },
  }),
})
