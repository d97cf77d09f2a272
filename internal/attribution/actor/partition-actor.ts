import { createHash } from 'node:crypto'
import { INVOCATIONS, invocationsSubject } from '../../../streams/invocations.js'
import { quarantineSubject } from '../../../streams/quarantine.js'
import type { LogEntry } from '../../broker/log.js'
import type { PlannedLog, PreparedBatch } from '../../broker/planned-log.js'
import { type GroupPublisher, publishAllOrThrow } from '../../broker/publisher.js'
import { quarantine } from '../../broker/quarantine.js'
import {
  type AdmittedInvocation,
  encodeEntry,
  encodeGroup,
  splitIntoGroups,
} from '../../invocations/invocation-group.js'
import { countVisible } from '../../records/record-metrics.js'
import { ADMISSION_KEYS_KEPT_MS, type AdmissionKeyRow } from '../../store/tables/admission-keys.js'
import type { AttributionRow } from '../../store/tables/attributions.js'
import type { QuarantinedRow } from '../../store/tables/quarantined.js'
import type { Logger } from '../../telemetry/log.js'
import { SPANS } from '../../telemetry/spans/spans.js'
import { type FormedBatch, formBatch, handOverId, type PoisonEvents, type ReadMessages, readMessages } from './batch.js'
import { BatchSpans } from './batch-spans.js'
import type { Checkpoint, Plan } from './checkpoint.js'
import { type Correction, correctionMessages } from './corrections.js'
import type { NamedMessage } from './list-messages.js'
import { withBatch } from './recent-messages.js'
import { type Rerouted, reroute, routingOf } from './routing.js'
import { type Disposition, handedOn, type OpenStage, type Stage } from './stage.js'
import { isTraceFacts, type LearnedFact, traceFactMessages } from './trace-facts.js'
import { tracePartition } from './trace-partition.js'

/** Dependencies of every actor: the next stages' mailboxes and the read model. */
export interface ActorDeps extends GroupPublisher {
  /** Of the log. */
  readonly partitions: number
  /**
   * These three are idempotent by token, which identifies the batch and the kind of rows.
   *
   * @param isRepeat an earlier attempt may have inserted rows, perhaps with another directory or model: its rows then
   *   count, also for everything derived from them
   * @param spans of the batch, if it is traced
   */
  readonly insert: (
    rows: readonly AttributionRow[],
    token: string,
    isRepeat: boolean,
    spans?: BatchSpans,
  ) => Promise<void>
  readonly recordKeys: (rows: readonly AdmissionKeyRow[], token: string) => Promise<void>
  readonly recordQuarantined: (rows: readonly QuarantinedRow[], token: string) => Promise<void>
  /** For each event, whether the read model has a record of it. */
  readonly hasRecord: (invocations: readonly AdmittedInvocation[]) => Promise<readonly boolean[]>
  /** Publishes corrections that have followed their events through all stages. */
  readonly correct: (corrections: readonly Correction[]) => Promise<void>
  readonly log: Logger
}

/** Runs a stage on its mailbox `invocations.<stage>.<partition>`, as a planned log. */
export function partitionActor(stage: Stage, partition: number, deps: ActorDeps): PlannedLog<Checkpoint> {
  const foreseen = new WeakMap<readonly LogEntry[], ReadMessages>()
  return {
    key: `${stage.name}.${partition}`,
    stream: INVOCATIONS.name,
    subject: invocationsSubject(stage.name, partition),
    initial: { done: 0 },
    // They change no event of their batch; a call of their trace ends the pause.
    canWait: isTraceFacts,
    foresee(entries, before) {
      foreseen.set(entries, readMessages(stage.name, partition, entries, before))
    },
    async open(checkpoint) {
      const open = await stage.open(partition, checkpoint)
      return async (entries, extent, before, planned) => {
        const startMs = Date.now()
        const startedAt = performance.now()
        const formed = formBatch(stage.name, partition, extent, entries, before, foreseen.get(entries))
        const dispositions = await open.handle(formed.batch, planned?.basis)
        const read = { entries, before, startMs, decidedMs: Math.round(performance.now() - startedAt) }
        const source = `${stage.name}${partition}.${extent.last}`
        const facts = factMessages(source, open.factsOf?.(formed.batch) ?? [], deps.partitions)
        if (planned === undefined) {
          const basis = open.basisOf?.(formed.batch)
          const plan = {
            ...extent,
            routing: routingOf(dispositions),
            ...(basis !== undefined && { basis }),
            ...(facts.length > 0 && { facts: facts.map(({ id }) => id) }),
          }
          return prepareBatch(stage, open, formed, plan, { dispositions, late: [], facts }, read, false, deps)
        }
        const rerouted = await reroute(formed.batch.invocations, dispositions, planned.routing, deps.hasRecord)
        const plan = rerouted.routing === planned.routing ? planned : { ...planned, routing: rerouted.routing }
        const named = facts.filter(({ id }) => planned.facts?.includes(id))
        return prepareBatch(stage, open, formed, plan, { ...rerouted, facts: named }, read, true, deps)
      }
    },
  }
}

/** What a batch was formed of, when, and how long the stage took to decide on it. */
interface ReadBatch {
  readonly entries: readonly LogEntry[]
  readonly before: Checkpoint
  readonly startMs: number
  readonly decidedMs: number
}

/** What a stage made of a batch. */
interface Decided extends Pick<Rerouted, 'dispositions' | 'late'> {
  readonly facts: readonly FactMessage[]
}

function prepareBatch(
  stage: Stage,
  open: OpenStage,
  formed: FormedBatch,
  plan: Plan,
  { dispositions, late, facts }: Decided,
  read: ReadBatch,
  isRepeat: boolean,
  deps: ActorDeps,
): PreparedBatch<Checkpoint> {
  const cause = `${stage.name}${formed.batch.partition}.${plan.last}`
  const learned = open.correctionsOf?.(formed.batch) ?? []
  const effects = {
    ...effectsOf(stage, formed, dispositions, late),
    facts,
    corrections: [...formed.corrections, ...learned.map((each) => ({ ...each, cause }))],
  }
  return {
    plan,
    after: checkpointAfter(stage, formed, plan, read),
    size: formed.batch.invocations.length,
    inserts: effects.rows.length > 0 || effects.keys.length > 0,
    async applyEffects() {
      const spans = SPANS.isOn ? spansOf(formed, dispositions, read, isRepeat) : undefined
      const apply = async (): Promise<void> => {
        await applyEffects(stage, formed, plan.last, effects, isRepeat, deps, spans)
        countVisible(stage.name, receivedOf(formed.batch, dispositions), Date.now())
        await open.onApplied?.(formed.batch)
      }
      await (spans === undefined ? apply() : spans.ofBatch(apply))
    },
  }
}

function checkpointAfter(
  { readAgain }: Stage,
  { handedOver }: FormedBatch,
  { last, atMs }: Plan,
  { entries, before, decidedMs }: ReadBatch,
): Checkpoint {
  const batch = { after: before.done, atMs, bytes: bytesOf(entries) }
  return {
    done: last,
    decidedMs,
    ...(handedOver !== undefined && { handedOver }),
    ...(readAgain !== undefined && { recent: withBatch(before.recent ?? [], batch, readAgain) }),
  }
}

const bytesOf = (entries: readonly LogEntry[]): number => entries.reduce((sum, { data }) => sum + data.length, 0)

function spansOf(
  { batch }: FormedBatch,
  dispositions: readonly Disposition[],
  { entries, startMs }: ReadBatch,
  isRepeat: boolean,
): BatchSpans | undefined {
  return BatchSpans.of({ batch, messages: entries.length, bytes: bytesOf(entries), dispositions, isRepeat, startMs })
}

/** When the events were received whose records this batch has stored. */
function* receivedOf({ invocations }: FormedBatch['batch'], dispositions: readonly Disposition[]): Generator<number> {
  for (const [i, { receivedAtMs }] of invocations.entries()) {
    if (dispositions[i]?.kind === 'resolved') yield receivedAtMs
  }
}

/** The effects of a batch. */
interface Effects {
  readonly keys: readonly AdmissionKeyRow[]
  readonly poison: readonly PoisonEvents[]
  /** Messages for the next stages. */
  readonly handOvers: readonly HandOverMessage[]
  readonly rows: readonly AttributionRow[]
  readonly facts: readonly FactMessage[]
  readonly corrections: readonly Correction[]
}

interface HandOverMessage {
  readonly subject: string
  readonly payload: Uint8Array
}

interface FactMessage extends NamedMessage {
  readonly subject: string
}

function effectsOf(
  stage: Stage,
  { batch, poison }: FormedBatch,
  dispositions: readonly Disposition[],
  late: Rerouted['late'],
): Omit<Effects, 'corrections' | 'facts'> {
  const keys: AdmissionKeyRow[] = []
  const rows: AttributionRow[] = []
  const toHandOver: AdmittedInvocation[] = []
  const unusable = [...poison]
  for (const [i, invocation] of batch.invocations.entries()) {
    const { key, receivedAtMs } = invocation
    // A dropped event needs its key as well: the request that repeated it got an answer of its own.
    const isKeyDue = key !== undefined && receivedAtMs > batch.validFromMs - ADMISSION_KEYS_KEPT_MS
    if (isKeyDue && stage.recordsKeyOf?.(invocation, batch.partition) === true) {
      keys.push({ admittedAtMs: receivedAtMs, ...key })
    }
    const disposition = dispositions[i]
    if (disposition?.kind === 'resolved') rows.push(disposition.row)
    else if (disposition?.kind === 'hand_on') toHandOver.push(handedOn(invocation, disposition))
    else if (disposition?.kind === 'failed') {
      const { sequence, index } = invocation.position
      const data = encodeGroup([encodeEntry(invocation, invocation.event, invocation.position)])
      // A replayed event keeps its position but comes in another batch, so both are part of the id.
      const id = `${batch.token}.${sequence}.${index}`
      const log = invocationsSubject(stage.name, batch.partition)
      unusable.push({ id, data, reason: disposition.reason, log, events: [invocation] })
    }
  }
  const handOvers = [toHandOver, ...late].flatMap((handed) => handOversOf(handed, stage, batch.partition))
  return { keys, poison: unusable, handOvers, rows }
}

/** The messages with these events, by mailbox: in the order in which the events first name one, which a repeat keeps. */
function handOversOf(
  invocations: readonly AdmittedInvocation[],
  stage: Stage,
  partition: number,
): readonly HandOverMessage[] {
  const bySubject = new Map<string, string[]>()
  for (const invocation of invocations) {
    const mailbox = stage.mailboxOf?.(invocation, partition) ?? (stage.next && { stage: stage.next, partition })
    if (mailbox === undefined) throw new Error('the last stage has no next stage to hand over to')
    const subject = invocationsSubject(mailbox.stage, mailbox.partition)
    const entries = bySubject.get(subject) ?? []
    if (entries.length === 0) bySubject.set(subject, entries)
    // The stage A of the event's partition records the key; stages behind it do not see it.
    const keepsKey = mailbox.stage === 'a'
    entries.push(encodeEntry(invocation, invocation.event, invocation.position, keepsKey))
  }
  return [...bySubject].flatMap(([subject, entries]) =>
    splitIntoGroups(entries).map((group) => ({ subject, payload: encodeGroup(group) })),
  )
}

/** Applies all effects of a batch. Each is keyed by the batch, so that a repeat changes nothing. */
async function applyEffects(
  stage: Stage,
  { batch }: FormedBatch,
  last: number,
  { keys, poison, handOvers, rows, facts, corrections }: Effects,
  isRepeat: boolean,
  deps: ActorDeps,
  spans: BatchSpans | undefined,
): Promise<void> {
  for (const { id, reason } of poison) {
    deps.log.error({ stage: stage.name, partition: batch.partition, id, reason }, 'quarantined a poison message')
  }
  await quarantine(deps, quarantineSubject(stage.name), poison)
  const quarantined = poison.flatMap(({ events, reason }) =>
    events.map(({ tenantId, id }) => {
      return { tenantId, id, stage: stage.name, reason, quarantinedAtMs: batch.validFromMs }
    }),
  )
  await deps.recordQuarantined(quarantined, `${batch.token}.quarantined.${digestOf(quarantined)}`)

  const source = `${stage.name}${batch.partition}`
  const learned = facts.map(({ subject, id, data }) => ({ subject, payload: data, messageId: id }))
  const handedOver = handOvers.map((each, part) => ({ ...each, messageId: handOverId(source, { last, part }) }))
  // Facts before the calls that they may resolve: a call that the trace actor reads without them is attributed twice.
  await publishAllOrThrow(deps, [...learned, ...handedOver], (message) => message)
  // At once: a record is visible sooner.
  await Promise.all([deps.recordKeys(keys, `${batch.token}.keys`), deps.insert(rows, batch.token, isRepeat, spans)])
  // After the rows and the events, so that a correction is never processed before its event is attributed.
  if (stage.next === undefined) return deps.correct(corrections)
  const next = invocationsSubject(stage.next, batch.partition)
  const forwarded = correctionMessages(`${source}.${last}`, corrections)
  await publishAllOrThrow(deps, forwarded, ({ id, data }) => ({ subject: next, payload: data, messageId: id }))
}

function factMessages(source: string, facts: readonly LearnedFact[], partitions: number): readonly FactMessage[] {
  const byPartition = new Map<number, LearnedFact[]>()
  for (const fact of facts) {
    const partition = tracePartition(fact.tenantId, fact.traceId, partitions)
    const known = byPartition.get(partition)
    if (known === undefined) byPartition.set(partition, [fact])
    else known.push(fact)
  }
  return [...byPartition].flatMap(([partition, ofPartition]) => {
    const subject = invocationsSubject('t', partition)
    return traceFactMessages(source, ofPartition).map((message) => ({ ...message, subject }))
  })
}

/**
 * Digest of the events in order. A new release between two attempts may quarantine other events: their rows then have
 * another token, and are not dropped as duplicates of the first ones.
 */
function digestOf(rows: readonly QuarantinedRow[]): string {
  const hash = createHash('sha256')
  for (const { tenantId, id } of rows) hash.update(tenantId).update(id)
  return hash.digest('hex').slice(0, 16)
}
