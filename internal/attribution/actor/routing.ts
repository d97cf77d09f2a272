import type { AdmittedInvocation } from '../../invocations/group.js'
import { type Disposition, DROP, HAND_ON } from './stage.js'

/**
 * Which events of a batch go on to the next stage, as part of its plan. A batch that is formed again after a crash
 * may meet a changed directory or model; its events must still go where they went, else one could end in two
 * records or in none.
 *
 * Base64 of a bit an event, least significant first; empty when none goes on.
 */
export type Routing = string

export function routingOf(dispositions: readonly Disposition[]): Routing {
  const bits = new Uint8Array(Math.ceil(dispositions.length / 8))
  let any = false
  for (const [i, { kind }] of dispositions.entries()) {
    if (kind !== 'hand_on') continue
    bits[i >> 3] = (bits[i >> 3] ?? 0) | (1 << (i & 7))
    any = true
  }
  return any ? Buffer.from(bits).toString('base64') : ''
}

export interface Rerouted {
  readonly dispositions: readonly Disposition[]
  /** Events that were resolved when the batch was planned and are not now; they go on after the planned ones. */
  readonly late: readonly AdmittedInvocation[]
}

/**
 * Brings a batch that was formed again to its planned routing.
 *
 * @param hasRecord whether the event's record is in the read model: then its insert had landed before the crash
 */
export async function reroute(
  invocations: readonly AdmittedInvocation[],
  dispositions: readonly Disposition[],
  planned: Routing,
  hasRecord: (invocations: readonly AdmittedInvocation[]) => Promise<readonly boolean[]>,
): Promise<Rerouted> {
  const bits = Buffer.from(planned, 'base64')
  const wentOn = (i: number): boolean => ((bits[i >> 3] ?? 0) & (1 << (i & 7))) !== 0

  const changed = invocations.filter((_, i) => dispositions[i]?.kind === 'hand_on' && !wentOn(i))
  const recorded = changed.length === 0 ? [] : await hasRecord(changed)
  return {
    dispositions: dispositions.map((disposition, i) => {
      if (wentOn(i)) return HAND_ON
      return disposition.kind === 'hand_on' ? DROP : disposition
    }),
    late: changed.filter((_, i) => recorded[i] !== true),
  }
}
