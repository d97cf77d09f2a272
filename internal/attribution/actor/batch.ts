import { invocationsSubject, type StageName } from '../../../streams/invocations.js'
import type { Extent } from '../../broker/checkpoint.js'
import type { LogEntry } from '../../broker/log.js'
import { type Poison, poisonReason } from '../../broker/quarantine.js'
import {
  type AdmittedInvocation,
  decodeGroup,
  type EventName,
  identifyEntries,
} from '../../invocations/invocation-group.js'
import type { Checkpoint, HandOver } from './checkpoint.js'
import { type Correction, decodeCorrections, isCorrection } from './corrections.js'
import { decodeTraceFacts, isTraceFacts, type LearnedFact } from './trace-facts.js'

/** The unit of work of a stage. The same messages always form the same batch, including `token` and `validFromMs`. */
export interface Batch {
  readonly stage: StageName
  readonly partition: number
  /** Identifies the batch in every effect, so that repeats are recognized. */
  readonly token: string
  readonly validFromMs: number
  readonly invocations: readonly AdmittedInvocation[]
  /** What earlier stages have learned of traces; only for the trace stage. */
  readonly facts: readonly LearnedFact[]
}

/** A message or an event that its stage cannot handle, with the affected events that could be identified. */
export interface PoisonEvents extends Poison {
  readonly events: readonly EventName[]
}

export interface FormedBatch extends Omit<ReadMessages, 'invocations' | 'facts'> {
  readonly batch: Batch
}

/** The content of messages, without hand-overs that have already taken effect. */
export interface ReadMessages {
  readonly invocations: readonly AdmittedInvocation[]
  /** Corrections from an earlier stage, for events that it handed over before these. */
  readonly corrections: readonly Correction[]
  readonly facts: readonly LearnedFact[]
  readonly poison: readonly PoisonEvents[]
  readonly handedOver: Checkpoint['handedOver']
}

/** Forms a batch from the planned messages. @param read what `readMessages` returned for them */
export function formBatch(
  stage: StageName,
  partition: number,
  plan: Extent,
  entries: readonly LogEntry[],
  before: Checkpoint,
  read = readMessages(stage, partition, entries, before),
): FormedBatch {
  const { invocations, facts, ...rest } = read
  const token = `${stage}.${partition}.${plan.first}-${plan.last}`
  return { batch: { stage, partition, token, validFromMs: plan.atMs, invocations, facts }, ...rest }
}

/** Reads messages, skipping hand-overs that have already taken effect. */
export function readMessages(
  stage: StageName,
  partition: number,
  entries: readonly LogEntry[],
  before: Checkpoint,
): ReadMessages {
  const invocations: AdmittedInvocation[] = []
  const corrections: Correction[] = []
  const facts: LearnedFact[] = []
  const poison: PoisonEvents[] = []
  let { handedOver } = before
  for (const { sequence, messageId, data } of entries) {
    const found = parseHandOverId(messageId)
    if (found !== undefined) {
      const { source, handOver } = found
      const known = handedOver?.[source]
      if (known !== undefined && !isLater(handOver, known)) continue
      handedOver = { ...handedOver, [source]: handOver }
    }
    try {
      if (isCorrection(messageId)) corrections.push(...decodeCorrections(data))
      else if (isTraceFacts(messageId)) facts.push(...decodeTraceFacts(data))
      else invocations.push(...decodeGroup(data, sequence))
    } catch (cause) {
      const reason = poisonReason('unreadable_message', cause)
      const log = invocationsSubject(stage, partition)
      poison.push({ id: `${stage}.${sequence}`, data, reason, log, messageId, events: identifyEntries(data) })
    }
  }
  return { invocations, corrections, facts, poison, handedOver }
}

/** The message id of one part of a batch's hand-over. @param source stage and partition, for example `a0` */
export const handOverId = (source: string, { last, part }: HandOver): string => `hand.${source}.${last}.${part}`

/** @returns undefined for a message that no stage has handed over */
export function parseHandOverId(
  messageId: string,
): { readonly source: string; readonly handOver: HandOver } | undefined {
  const match = /^hand\.([a-z]\d+)\.(\d+)\.(\d+)$/.exec(messageId)
  if (match === null) return undefined
  return { source: match[1] ?? '', handOver: { last: Number(match[2]), part: Number(match[3]) } }
}

const isLater = (one: HandOver, other: HandOver): boolean =>
  one.last > other.last || (one.last === other.last && one.part > other.part)
