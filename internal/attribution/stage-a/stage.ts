import { type AdmittedInvocation, WAS_DUPLICATE } from '../../invocations/group.js'
import type { TenantSettings } from '../../tenants/tenant.js'
import type { SeenEvents } from '../actor/seen-events.js'
import { DROP, eachInvocation, HAND_ON, type Stage } from '../actor/stage.js'
import type { Directory } from '../directory/directory.js'
import { type RowDeps, RULES_VERSION, toRow } from '../row.js'
import { strongestEvidence } from './evidence.js'

export interface StageADeps extends RowDeps {
  readonly directory: Directory
  readonly settingsOf: (tenantId: string) => TenantSettings
  /** What the partition has seen so far, rebuilt from the read model and from what later stages still hold. */
  readonly loadSeen: (partition: number) => Promise<SeenEvents>
}

/**
 * Stage A: attributes from facts alone (what the event states, the tenant's directory, the credential).
 * Mailbox `invocations.a.<partition>`. An event seen before is dropped here, whatever it says now; what the facts
 * do not resolve goes to `invocations.b.<same partition>`.
 */
export function stageA(deps: StageADeps): Stage {
  return {
    name: 'a',
    next: 'b',
    async open(partition) {
      const seen = await deps.loadSeen(partition)
      return {
        async handle({ invocations, validFromMs }) {
          const events = invocations.filter((admitted) => !isForItsKey(admitted))
          const isDuplicate = await seen.duplicatesIn(events, validFromMs)
          const dropped = new Set(events.filter((_, i) => isDuplicate[i] === true))
          return eachInvocation(invocations, (admitted) => {
            if (isForItsKey(admitted) || dropped.has(admitted)) return DROP
            const { invocation, tenantId, principal } = admitted
            const settings = deps.settingsOf(tenantId)
            const resolution = strongestEvidence(invocation, tenantId, principal, deps.directory, settings)
            if (resolution === undefined) return HAND_ON
            const verdict = {
              ...resolution,
              stageOrigin: 'stage_a',
              outputState: 'deterministically_resolved',
              modelVersion: RULES_VERSION,
              degradationState: 'none',
            } as const
            return toRow(admitted, verdict, { partition, validFromMs }, deps)
          })
        },
      }
    },
  }
}

/** The event had been admitted before, perhaps by way of another partition. */
const isForItsKey = ({ key }: AdmittedInvocation): boolean => key !== undefined && (key.flags & WAS_DUPLICATE) !== 0
