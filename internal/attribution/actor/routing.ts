import type { AdmittedInvocation } from '../../invocations/invocation-group.js'
import type { Routing } from './checkpoint.js'
import { type Disposition, DROP, HAND_ON } from './stage.js'

export const routingOf = (dispositions: readonly Disposition[]): Routing =>
  bitsOf(dispositions.map(({ kind }) => kind === 'hand_on'))

export interface Rerouted {
  readonly dispositions: readonly Disposition[]
  /**
   * Events that were resolved when the batch was planned but not in a later attempt, grouped by attempt. They are
   * handed over after the planned events.
   */
  readonly late: readonly (readonly AdmittedInvocation[])[]
  /** If changed, must be written to the plan before anything is handed over. */
  readonly routing: Routing
}

/**
 * Applies the planned routing to a repeated batch.
 *
 * @param hasRecord whether the read model has the event's record, that is, whether it was inserted before the crash
 */
export async function reroute(
  invocations: readonly AdmittedInvocation[],
  dispositions: readonly Disposition[],
  planned: Routing,
  hasRecord: (invocations: readonly AdmittedInvocation[]) => Promise<readonly boolean[]>,
): Promise<Rerouted> {
  const [isPlanned = none, ...addedBefore] = planned.split(',').map(membership)
  const isLate = (i: number): boolean => addedBefore.some((has) => has(i))

  const changed = dispositions.flatMap(({ kind }, i) => (kind === 'hand_on' && !isPlanned(i) && !isLate(i) ? [i] : []))
  const isChanged = new Set(changed)
  const recorded = changed.length === 0 ? [] : await hasRecord(invocations.filter((_, i) => isChanged.has(i)))
  const added = new Set(changed.filter((_, at) => recorded[at] !== true))
  const isAdded = (i: number): boolean => added.has(i)
  return {
    dispositions: dispositions.map((disposition, i) => {
      if (isPlanned(i)) return disposition.kind === 'hand_on' ? disposition : HAND_ON
      return disposition.kind === 'hand_on' || isLate(i) ? DROP : disposition
    }),
    late: [...addedBefore, ...(added.size === 0 ? [] : [isAdded])].map((has) => invocations.filter((_, i) => has(i))),
    routing: added.size === 0 ? planned : `${planned},${bitsOf(dispositions.map((_, i) => isAdded(i)))}`,
  }
}

type Membership = (i: number) => boolean

const none: Membership = () => false

function membership(bits: string): Membership {
  const bytes = Buffer.from(bits, 'base64')
  return (i) => ((bytes[i >> 3] ?? 0) & (1 << (i & 7))) !== 0
}

function bitsOf(members: readonly boolean[]): string {
  const bytes = new Uint8Array(Math.ceil(members.length / 8))
  for (const [i, isMember] of members.entries()) {
    if (isMember) bytes[i >> 3] = (bytes[i >> 3] ?? 0) | (1 << (i & 7))
  }
  return members.includes(true) ? Buffer.from(bytes).toString('base64') : ''
}
