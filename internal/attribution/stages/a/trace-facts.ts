import type { Directory } from '../../../directory/directory.js'
import type { AdmittedInvocation } from '../../../invocations/invocation-group.js'
import { capConfidence } from '../../../records/interpretation.js'
import type { LearnedFact } from '../../actor/trace-facts.js'
import { inheritedOwner, type Resolution, STRENGTH, undatedName } from './evidence.js'

/** Calls whose own times are further apart than this have separate entries. */
const APART_MS = 60 * 60 * 1000

/** What a resolved call tells the other calls of its trace. */
export function factOf(
  { tenantId, invocation: { attributionConfidence } }: AdmittedInvocation,
  own: Resolution,
  directory: Directory,
) {
  return {
    service: undatedName(own.service, tenantId, directory),
    owner: inheritedOwner(own.owner, own.evidence.owner_from),
    confidence: capConfidence(own.confidence, attributionConfidence),
    strength: STRENGTH[own.evidenceBasis],
  }
}

/** The facts of a batch: calls of a trace that tell the same are one entry. */
export class TraceFacts {
  private readonly directory: Directory
  private readonly facts = new Map<string, { -readonly [member in keyof LearnedFact]: LearnedFact[member] }>()

  constructor(directory: Directory) {
    this.directory = directory
  }

  add(admitted: AdmittedInvocation, traceId: string, own: Resolution): void {
    const { tenantId, invocation } = admitted
    const { eventTimeMs: atMs } = invocation
    const fact = factOf(admitted, own, this.directory)
    const name = JSON.stringify([tenantId, traceId, Object.values(fact), Math.floor(atMs / APART_MS)])
    const known = this.facts.get(name)
    if (known === undefined) {
      this.facts.set(name, { tenantId, traceId, ...fact, fromMs: atMs, toMs: atMs })
      return
    }
    known.fromMs = Math.min(known.fromMs, atMs)
    known.toMs = Math.max(known.toMs, atMs)
  }

  all(): readonly LearnedFact[] {
    return [...this.facts.values()]
  }
}
