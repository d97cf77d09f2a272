import { setTimeout as sleep } from 'node:timers/promises'
import type { KV } from '@nats-io/kv'
import { INVOCATIONS, invocationsSubject } from '../../../streams/invocations.js'
import { quarantineSubject } from '../../../streams/quarantine.js'
import type { LogEntry, LogRange } from '../../broker/log.js'
import type { PublishResult } from '../../broker/publisher.js'
import { type AdmittedInvocation, encodeEntry, encodeGroup, splitIntoGroups } from '../../invocations/group.js'
import type { AttributionRow } from '../../store/tables/attributions.js'
import type { Logger } from '../../telemetry/log.js'
import { type FormedBatch, formBatch, handOverId } from './batch.js'
import { CheckpointHold, OwnershipLost, type Plan } from './checkpoint.js'
import { type Rerouted, reroute, routingOf } from './routing.js'
import type { Disposition, OpenStage, Stage } from './stage.js'

/** What every actor is given: the log, the next stage's mailbox, the sink, and who owns what. */
export interface ActorDeps {
  readonly checkpoints: KV
  readonly readLog: (range: LogRange) => Promise<LogEntry[]>
  readonly publish: (
    subject: string,
    payload: Uint8Array,
    messageId: string,
    timeoutMs: number,
  ) => Promise<PublishResult>
  readonly insert: (rows: readonly AttributionRow[], token: string) => Promise<void>
  /** For each of the events, whether the read model holds a record of it. */
  readonly hasRecord: (invocations: readonly AdmittedInvocation[]) => Promise<readonly boolean[]>
  readonly isOwner: (stage: Stage['name'], partition: number) => boolean
  readonly clock: () => number
  readonly log: Logger
}

const BATCH_MESSAGES_MAX = 1_000
const BATCH_BYTES_MAX = 6 * 1024 * 1024
/** A batch of so many events is worth its insert. */
const FULL_EVENTS = 5_000
/** How long a mailbox that was found empty is left alone. */
const IDLE_MS = 50
/**
 * From the start of a batch that inserted to the start of the next, unless the batch was full: an insert costs the
 * engine 15 ms of a core however few rows it has (measured), and what arrives meanwhile travels as one.
 */
const INSERT_EVERY_MS = 250
/** After a failure of a dependency. */
const RETRY_MS = 500
const PUBLISH_TIMEOUT_MS = 2_000
/** A process that stood still for longer than this after its plan (stopped, swapped out) asks again whether it owns. */
const PLAN_AGE_MS_MAX = 20_000

/**
 * One actor: reads its mailbox `invocations.<stage>.<partition>` in batches, each planned, carried out exactly once
 * and then done. Runs until `signal` aborts, which it obeys between batches. A dependency that is away is waited
 * for; another owner's write ends the hold, and the checkpoint is read anew.
 */
export async function runPartitionActor(
  stage: Stage,
  partition: number,
  deps: ActorDeps,
  signal: AbortSignal,
): Promise<void> {
  const log = deps.log.child({ stage: stage.name, partition })
  while (!signal.aborted) {
    if (!deps.isOwner(stage.name, partition)) {
      await pause(IDLE_MS, signal)
      continue
    }
    try {
      const hold = await CheckpointHold.take(deps.checkpoints, stage.name, partition)
      const open = await stage.open(partition)
      log.debug({ done: hold.value.done }, 'took over a partition')
      await work(stage, open, partition, hold, deps, signal)
    } catch (cause) {
      if (cause instanceof OwnershipLost) log.info('another attributor owns this partition now')
      else log.warn({ err: cause }, 'a batch could not be finished; it will be formed again')
      await pause(RETRY_MS, signal)
    }
  }
}

async function work(
  stage: Stage,
  open: OpenStage,
  partition: number,
  hold: CheckpointHold,
  deps: ActorDeps,
  signal: AbortSignal,
): Promise<void> {
  const range = { stream: INVOCATIONS.name, subject: invocationsSubject(stage.name, partition) }
  let planned = hold.value.plan
  while (!signal.aborted && deps.isOwner(stage.name, partition)) {
    const { done, handedOver } = hold.value
    const readAt = performance.now()
    const entries = planned
      ? await readPlanned(range, planned, deps)
      : await deps.readLog({ ...range, from: done + 1, messagesMax: BATCH_MESSAGES_MAX, bytesMax: BATCH_BYTES_MAX })

    const [first, last] = [entries[0], entries.at(-1)]
    if (first === undefined || last === undefined) {
      // All is done: says so, that nobody waits for a plan that has been carried out.
      if (hold.value.plan !== undefined) await hold.save(checkpoint(done, handedOver))
      planned = undefined
      await pause(IDLE_MS, signal)
      continue
    }

    const extent = planned ?? { first: first.sequence, last: last.sequence, atMs: deps.clock() }
    const formed = formBatch(stage.name, partition, extent, entries, hold.value)
    let dispositions = open.handle(formed.batch)
    let late: Rerouted['late'] = []
    if (planned === undefined) {
      await hold.save({ ...checkpoint(done, handedOver), plan: { ...extent, routing: routingOf(dispositions) } })
    } else {
      const rerouted = await reroute(formed.batch.invocations, dispositions, planned.routing, deps.hasRecord)
      if (rerouted.routing !== planned.routing) {
        await hold.save({ ...checkpoint(done, handedOver), plan: { ...planned, routing: rerouted.routing } })
      }
      ;({ dispositions, late } = rerouted)
    }

    if (performance.now() - readAt > PLAN_AGE_MS_MAX) throw new OwnershipLost('the batch grew too old in this process')
    await carryOut(stage, formed, extent.last, dispositions, late, deps)
    // Kept in memory until the next plan is written, which says both in one write.
    hold.advance(checkpoint(extent.last, formed.handedOver))
    planned = undefined
    const isFull = entries.length === BATCH_MESSAGES_MAX || formed.batch.invocations.length >= FULL_EVENTS
    const insertsRows = dispositions.some(({ kind }) => kind === 'resolved')
    if (insertsRows && !isFull) await pause(INSERT_EVERY_MS - (performance.now() - readAt), signal)
  }
}

const checkpoint = (done: number, handedOver: CheckpointHold['value']['handedOver']) => ({
  done,
  ...(handedOver === undefined ? {} : { handedOver }),
})

/** The planned messages, all of them, in as many reads as it takes. */
async function readPlanned(
  range: { readonly stream: string; readonly subject: string },
  plan: Plan,
  deps: ActorDeps,
): Promise<LogEntry[]> {
  const entries: LogEntry[] = []
  let from = plan.first
  while (from <= plan.last) {
    const read = await deps.readLog({ ...range, from, messagesMax: BATCH_MESSAGES_MAX, bytesMax: BATCH_BYTES_MAX })
    const last = read.at(-1)
    if (last === undefined) throw new Error(`planned messages up to ${plan.last} are not in the log`)
    entries.push(...read.filter(({ sequence }) => sequence <= plan.last))
    from = last.sequence + 1
  }
  return entries
}

/** Every effect of a batch, each recognisable by the batch's name, so that a repeat changes nothing. */
async function carryOut(
  stage: Stage,
  { batch, poison }: FormedBatch,
  last: number,
  dispositions: readonly Disposition[],
  late: Rerouted['late'],
  deps: ActorDeps,
): Promise<void> {
  const rows: AttributionRow[] = []
  const handOn: AdmittedInvocation[] = []
  const unusable = [...poison]
  for (const [i, invocation] of batch.invocations.entries()) {
    const disposition = dispositions[i]
    if (disposition?.kind === 'resolved') rows.push(disposition.row)
    else if (disposition?.kind === 'hand_on') handOn.push(invocation)
    else if (disposition?.kind === 'failed') {
      const { sequence, index } = invocation.position
      const data = encodeGroup([encodeEntry(invocation, invocation.event, invocation.position)])
      unusable.push({ id: `${stage.name}.${sequence}.${index}`, data, reason: disposition.reason })
    }
  }

  for (const { id, data, reason } of unusable) {
    deps.log.error({ stage: stage.name, partition: batch.partition, id, reason }, 'quarantined what cannot be handled')
    await store(deps, quarantineSubject(stage.name), data, `quarantine.${id}`)
  }

  const handed = [handOn, ...late].flatMap(groupsOf)
  for (const [part, payload] of handed.entries()) {
    if (stage.next === undefined) throw new Error('the last stage has nobody to hand on to')
    const id = handOverId(`${stage.name}${batch.partition}`, { last, part })
    await store(deps, invocationsSubject(stage.next, batch.partition), payload, id)
  }
  await deps.insert(rows, batch.token)
}

const groupsOf = (invocations: readonly AdmittedInvocation[]): Uint8Array[] =>
  splitIntoGroups(invocations.map((invocation) => encodeEntry(invocation, invocation.event, invocation.position))).map(
    encodeGroup,
  )

async function store(deps: ActorDeps, subject: string, payload: Uint8Array, messageId: string): Promise<void> {
  const result = await deps.publish(subject, payload, messageId, PUBLISH_TIMEOUT_MS)
  if (result.kind !== 'stored') throw new Error(`${subject} did not take a message: ${result.kind}`)
}

const pause = (ms: number, signal: AbortSignal): Promise<void> =>
  ms <= 0 ? Promise.resolve() : sleep(ms, undefined, { signal }).catch(() => undefined)
