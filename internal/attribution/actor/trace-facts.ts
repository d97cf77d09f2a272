import type { Confidence } from '../../records/interpretation.js'
import { listMessages, type NamedMessage } from './list-messages.js'

/**
 * Which services the calls of a trace name: one entry per batch, trace, service and time.
 * Learning one twice has no further effect.
 */
export interface LearnedFact {
  readonly tenantId: string
  readonly traceId: string
  readonly service: string
  /** Undefined if the calls pass no owner on. */
  readonly owner: string | undefined
  readonly confidence: Confidence
  readonly strength: number
  /** When the calls happened by their own account, from the earliest to the latest; epoch milliseconds. */
  readonly fromMs: number
  readonly toMs: number
}

type WireFact = readonly [
  tenantId: string,
  traceId: string,
  service: string,
  owner: string | null,
  confidence: number,
  strength: number,
  fromMs: number,
  toMs: number,
]

/** @throws Error when the bytes are not valid facts; the message is then poison */
export function decodeTraceFacts(data: Uint8Array): LearnedFact[] {
  const { facts } = JSON.parse(Buffer.from(data.buffer, data.byteOffset, data.length).toString('utf8')) as {
    readonly facts: readonly WireFact[]
  }
  return facts.map(([tenantId, traceId, service, owner, confidence, strength, fromMs, toMs]) => {
    const areTexts = [tenantId, traceId, service].every((text) => typeof text === 'string')
    const areNumbers = [confidence, strength, fromMs, toMs].every(Number.isFinite)
    if (!areTexts || !areNumbers) throw new Error('not valid facts of a trace')
    return { tenantId, traceId, service, owner: owner ?? undefined, confidence, strength, fromMs, toMs }
  })
}

/** The messages for one trace actor. @param source stage, partition and last sequence of the batch */
export const traceFactMessages = (source: string, facts: readonly LearnedFact[]): NamedMessage[] =>
  listMessages(
    ID_PREFIX,
    'facts',
    source,
    facts.map((fact): WireFact => {
      const { tenantId, traceId, service, owner = null, confidence, strength, fromMs, toMs } = fact
      return [tenantId, traceId, service, owner, confidence, strength, fromMs, toMs]
    }),
  )

const ID_PREFIX = 'facts.'

export const isTraceFacts = (messageId: string): boolean => messageId.startsWith(ID_PREFIX)
