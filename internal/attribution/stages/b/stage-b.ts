import type { ShadowOfBatch } from '../../../inference/models/shadow.js'
import type { AdmittedInvocation } from '../../../invocations/invocation-group.js'
import { PROVISIONAL_FLOOR } from '../../../records/interpretation.js'
import type { Batch } from '../../actor/batch.js'
import { eachInvocation, HAND_ON, type Stage } from '../../actor/stage.js'
import { type RowDeps, toRow, type Verdict } from '../../records/row.js'
import { type AnswerDeps, answer, type Served } from './inference-answer.js'
import { Lookups, type LookupsDeps } from './lookups.js'
import { withKnownOwner } from './with-known-owner.js'

export interface StageBDeps extends RowDeps, Omit<AnswerDeps, 'identityKeyOf' | 'identityNameOf'>, LookupsDeps {
  readonly countShadow: (shadow: ShadowOfBatch) => Promise<void>
}

/**
 * The inference stage (B): trained models. Mailbox `invocations.b.<partition>`. Each tenant's own model attributes its
 * calls; without a usable model, the baseline does. A call whose identity has an owner in the directory is that owner's,
 * whatever is inferred. Other calls with a confidence below 0.50, and those of a tenant that has switched inference off,
 * go to the pools stage (C).
 *
 * A faulty model never stops a batch: the baseline attributes its calls instead, or they go to pools.
 */
export const stageB = (deps: StageBDeps): Stage => ({
  name: 'b',
  next: 'c',
  async open(partition) {
    let last: { readonly token: string; readonly served: Readonly<Record<string, Served>> } | undefined
    let shadows: readonly ShadowOfBatch[] = []
    return {
      async handle(batch, basis) {
        const planned = basis === undefined ? {} : (JSON.parse(basis) as Readonly<Record<string, Served>>)
        const { verdicts, ...rest } = await attribute(batch, planned, deps)
        last = { token: batch.token, served: rest.served }
        shadows = rest.shadows
        const placement = { partition, validFromMs: batch.validFromMs }
        return eachInvocation(batch.invocations, (admitted) => {
          const verdict = verdicts.get(admitted)
          return verdict === undefined ? HAND_ON : toRow(admitted, verdict, placement, deps)
        })
      },

      basisOf({ token }) {
        if (last?.token !== token) throw new Error('basisOf was called for a batch other than the last one handled')
        return JSON.stringify(last.served)
      },

      async onApplied({ token }) {
        const counted = shadows.filter((shadow) => shadow.token === token)
        shadows = []
        for (const shadow of counted) {
          // A shadow evaluation may miss a batch; waiting for it would stall the partition.
          await deps.countShadow(shadow).catch((cause: unknown) => {
            deps.log.warn(
              { err: cause, model: shadow.modelId },
              'could not record a batch in the shadow evaluation of a candidate model',
            )
          })
        }
      },
    }
  },
})

interface Attributed {
  /** An event without a verdict goes to the pools stage. */
  readonly verdicts: ReadonlyMap<AdmittedInvocation, Verdict>
  /** By tenant: the model or baseline that answered. */
  readonly served: Readonly<Record<string, Served>>
  readonly shadows: readonly ShadowOfBatch[]
}

async function attribute(
  { invocations, partition, token, validFromMs }: Batch,
  planned: Readonly<Record<string, Served>>,
  deps: StageBDeps,
): Promise<Attributed> {
  const verdicts = new Map<AdmittedInvocation, Verdict>()
  const served: Record<string, Served> = {}
  const shadows: ShadowOfBatch[] = []
  const lookups = new Lookups(deps)
  for (const [tenantId, calls] of byTenant(invocations)) {
    const answered = await answer(tenantId, calls, planned[tenantId], lookups, deps)
    served[tenantId] = answered.served
    for (const [i, admitted] of calls.entries()) {
      const inferred = answered.verdicts[i]
      const isNamed = inferred !== undefined && inferred.confidence >= PROVISIONAL_FLOOR
      const verdict = withKnownOwner(isNamed ? inferred : undefined, admitted, deps.directory)
      if (verdict !== undefined) verdicts.set(admitted, verdict)
    }
    const { shadow } = answered
    if (shadow !== undefined) shadows.push({ ...shadow, tenantId, partition, token, atMs: validFromMs })
  }
  return { verdicts, served, shadows }
}

function byTenant(invocations: readonly AdmittedInvocation[]): ReadonlyMap<string, readonly AdmittedInvocation[]> {
  const groups = new Map<string, AdmittedInvocation[]>()
  for (const admitted of invocations) {
    const group = groups.get(admitted.tenantId)
    if (group === undefined) groups.set(admitted.tenantId, [admitted])
    else group.push(admitted)
  }
  return groups
}
