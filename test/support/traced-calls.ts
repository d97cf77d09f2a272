/** Calls of traces on their way through the stages A and T, by messages as the log has them. */
import fc from 'fast-check'
import { handOverId, readMessages } from '../../internal/attribution/actor/batch.js'
import type { Checkpoint } from '../../internal/attribution/actor/checkpoint.js'
import { withBatch } from '../../internal/attribution/actor/recent-messages.js'
import { traceFactMessages } from '../../internal/attribution/actor/trace-facts.js'
import { stageA } from '../../internal/attribution/stages/a/stage-a.js'
import type { PartitionTraces } from '../../internal/attribution/stages/t/partition-traces.js'
import { stageT } from '../../internal/attribution/stages/t/stage-t.js'
import { DEFAULT_SETTINGS } from '../../internal/auth/tenant.js'
import type { StoredEntry } from '../../internal/broker/log.js'
import { NO_RULES } from '../../internal/directory/mapping/mapping-policy.js'
import type { Invocation } from '../../internal/invocations/invocation.js'
import {
  type AdmittedInvocation,
  decodeGroup,
  encodeEntry,
  encodeGroup,
} from '../../internal/invocations/invocation-group.js'
import { createLog } from '../../internal/telemetry/log.js'
import { directoryOf } from './directory.js'
import { idOf, NOW_MS, validEvent } from './invocations.js'
import { batchOf, ROW_DEPS, STAGE_C_DEPS } from './stages.js'

export const DIRECTORY = directoryOf({
  services: [{ name: 'search', owner: 'team-search', aliases: ['finder'] }],
  identities: [{ name: 'bot', service: 'crawler' }],
  principals: [{ id: 'key_batch', service: 'nightly' }],
})
const settings = { ...DEFAULT_SETTINGS, undeclared_services: 'resolved' } as const
export const FACTS_DEPS = {
  ...STAGE_C_DEPS,
  directory: DIRECTORY,
  settingsOf: () => settings,
  mappingOf: () => NO_RULES,
  log: createLog('test', 'silent'),
}

type Stated = 'traceId' | 'attributedService' | 'attributedIdentity' | 'attributionConfidence'

export interface Call {
  readonly number: number
  readonly principal: string
  readonly invocation: Partial<Pick<Invocation, Stated>>
  readonly minute: number
}

const wireOf = ({ number, principal, invocation, minute }: Call): string =>
  encodeEntry(
    { tenantId: 'tnt_one', principal, id: idOf(number), receivedAtMs: NOW_MS },
    validEvent({
      trace_id: invocation.traceId,
      ingestion_timestamp: new Date(NOW_MS + minute * 60_000).toISOString(),
      ...(invocation.attributedService && { attributed_service: invocation.attributedService }),
      ...(invocation.attributedIdentity && { attributed_identity: invocation.attributedIdentity }),
      ...(invocation.attributionConfidence && { attribution_confidence: invocation.attributionConfidence }),
    } as Parameters<typeof validEvent>[0]),
    { sequence: number + 1, index: 0 },
  )

export const eventOf = (each: Call): AdmittedInvocation => {
  const [admitted] = decodeGroup(encodeGroup([wireOf(each)]), each.number + 1)
  if (admitted === undefined) throw new Error('the group is empty')
  return admitted
}

/**
 * The messages that stage A makes of its batches for the actor of their traces: of each batch the calls that it hands
 * on, and what it tells of the others. Each batch is of a partition of its own: they may come in any order.
 */
export async function messagesOf(batches: readonly (readonly Call[])[]): Promise<readonly StoredEntry[]> {
  const open = await stageA({
    ...ROW_DEPS,
    ...FACTS_DEPS,
    partitions: 1,
    loadSeen: async () => ({ duplicatesIn: async (events) => events.map(() => false) }),
  }).open(0)
  const entries: StoredEntry[] = []
  for (const [i, calls] of batches.entries()) {
    const batch = batchOf('a', calls.map(eventOf))
    const dispositions = await open.handle(batch)
    const handedOn = calls.filter((_, at) => dispositions[at]?.kind === 'hand_on')
    const last = calls.at(-1)?.minute ?? 0
    const rest = { subject: 'invocations.t.0', storedAt: new Date(NOW_MS + last * 60_000).toISOString() }
    const add = (messageId: string, data: Uint8Array): void => {
      entries.push({ ...rest, sequence: entries.length + 1, messageId, data })
    }
    for (const { id, data } of traceFactMessages(`a${i}.1`, open.factsOf?.(batch) ?? [])) add(id, data)
    if (handedOn.length > 0) add(handOverId(`a${i}`, { last: 1, part: 0 }), encodeGroup(handedOn.map(wireOf)))
  }
  return entries
}

/**
 * The trace stage on its mailbox: the verdict on each event as it was made, and then corrected.
 *
 * @param timeOf a batch, by its last message
 * @returns the checkpoint that it leaves
 */
export async function runStageT(
  entries: readonly StoredEntry[],
  cuts: readonly boolean[],
  traces: PartitionTraces,
  told: Map<string, string>,
  timeOf: (last: StoredEntry) => number = ({ storedAt }) => Date.parse(storedAt),
): Promise<Checkpoint> {
  const { readAgain = NOTHING, ...stage } = stageT({ ...ROW_DEPS, ...FACTS_DEPS, loadTraces: async () => traces })
  const { handle, correctionsOf, onApplied } = await stage.open(0)
  let checkpoint: Checkpoint = { done: 0, recent: [] }
  for (let from = 0; from < entries.length; ) {
    let to = from + 1
    while (to < entries.length && cuts[to] !== true) to++
    const messages = entries.slice(from, to)
    const last = messages.at(-1) as StoredEntry
    const read = readMessages('t', 0, messages, { done: 0 })
    const validFromMs = timeOf(last)
    const batch = { ...batchOf('t', read.invocations, read.facts), validFromMs }
    const dispositions = await handle(batch)
    for (const [i, { id }] of read.invocations.entries()) {
      const made = dispositions[i]
      told.set(hexOf(id), made?.kind === 'resolved' ? shownAs(made.row) : HANDED_ON)
    }
    for (const { id, verdict } of correctionsOf?.(batch) ?? []) {
      const isOpen = verdict.evidenceBasis === 'default_pool' || verdict.evidenceBasis === 'owner_resolved'
      told.set(hexOf(id), isOpen ? HANDED_ON : shownAs(verdict))
    }
    await onApplied?.(batch)
    const bytes = messages.reduce((sum, { data }) => sum + data.length, 0)
    const done = { after: checkpoint.done, atMs: validFromMs, bytes }
    checkpoint = { done: last.sequence, recent: withBatch(checkpoint.recent ?? [], done, readAgain) }
    from = to
  }
  return checkpoint
}
const NOTHING = { windowMs: 0, bytesMax: 0 }

export const hexOf = (id: Uint8Array): string => Buffer.from(id).toString('hex')

export const HANDED_ON = 'handed on'
/** Without the owner: it is the one that the calls of the trace agreed on at the time. */
export const shownAs = ({
  service,
  evidenceBasis,
  confidence,
}: {
  readonly service: string
  readonly evidenceBasis: string
  readonly confidence: number
}): string => `${service} ${evidenceBasis} ${confidence}`

/** At most 14, a minute apart. */
export const drawnCalls = fc
  .array(
    fc.record({
      principal: fc.constantFrom('key_one', 'key_batch'),
      invocation: fc.record({
        traceId: fc.constantFrom('one', 'two'),
        attributedService: fc.option(fc.constantFrom('search', 'finder', 'chat'), { nil: undefined, freq: 2 }),
        attributedIdentity: fc.option(fc.constantFrom('bot', 'eve'), { nil: undefined, freq: 3 }),
        attributionConfidence: fc.option(fc.constantFrom(0.5, 0.8), { nil: undefined, freq: 3 }),
      }),
    }),
    { minLength: 1, maxLength: 14 },
  )
  .map((calls) =>
    calls.map(({ principal, invocation: { attributionConfidence, ...stated } }, number): Call => {
      // Of a call that names its service alone: a record has the lesser of its own and that of its evidence.
      const invocation = stated.attributedService === undefined ? stated : { ...stated, attributionConfidence }
      return { principal, invocation, number, minute: number }
    }),
  )
