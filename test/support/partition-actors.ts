/** The actors of partitions on a real broker and a real store, as processes run them. */
import { heldFinder } from '../../internal/attribution/actor/held-invocations.js'
import { type LoadSeenDeps, loadSeenEvents } from '../../internal/attribution/actor/load-seen.js'
import { type ActorDeps, partitionActor } from '../../internal/attribution/actor/partition-actor.js'
import type { RowDeps } from '../../internal/attribution/records/row.js'
import { stageA } from '../../internal/attribution/stages/a/stage-a.js'
import { stageC } from '../../internal/attribution/stages/c/stage-c.js'
import { loadTraces } from '../../internal/attribution/stages/t/load-traces.js'
import { stageT } from '../../internal/attribution/stages/t/stage-t.js'
import { DEFAULT_SETTINGS } from '../../internal/auth/tenant.js'
import { partitionsHeld } from '../../internal/broker/partitions.js'
import { runPlannedLog } from '../../internal/broker/planned-log.js'
import { publishOrThrow } from '../../internal/broker/publisher.js'
import type { Directory } from '../../internal/directory/directory.js'
import { NO_RULES } from '../../internal/directory/mapping/mapping-policy.js'
import {
  type Admission,
  type AdmissionKey,
  encodeEntry,
  encodeGroup,
  type Position,
} from '../../internal/invocations/invocation-group.js'
import { recordedIds, recordSourcesOf, recordSourcesSince } from '../../internal/store/queries/records/sources.js'
import type { RowBinaryTable } from '../../internal/store/row-binary.js'
import { insertRows } from '../../internal/store/sink.js'
import { ADMISSION_KEYS } from '../../internal/store/tables/admission-keys.js'
import { ATTRIBUTIONS } from '../../internal/store/tables/attributions.js'
import { QUARANTINED } from '../../internal/store/tables/quarantined.js'
import { INVOCATIONS, invocationsSubject, type StageName } from '../../streams/invocations.js'
import { type Database, openDatabase } from './database.js'
import { directoryOf } from './directory.js'
import { idOf, validEvent } from './invocations.js'
import { type LogBroker, launchLogBroker } from './planned-logs.js'
import { event, ROW_DEPS, STAGE_C_DEPS, switchedOffStageB } from './stages.js'

export let store: Database
export let broker: LogBroker

/** For the tests of one file. */
export async function openPartitions(): Promise<void> {
  store = await openDatabase()
  broker = await launchLogBroker()
}

const LOG_ID = ROW_DEPS.logId
export const HOUR_MS = 3_600_000

const insertInto =
  <Row>(table: RowBinaryTable<Row>) =>
  (rows: readonly Row[], token: string) =>
    insertRows(store.client, table, rows, `${LOG_ID}.${token}`)

/** So many that each test has one of its own. */
export const PARTITIONS = 16

export const actorDeps = (): ActorDeps => ({
  partitions: PARTITIONS,
  publish: broker.publish,
  publishTogether: broker.publishTogether,
  insert: insertInto(ATTRIBUTIONS),
  recordKeys: insertInto(ADMISSION_KEYS),
  recordQuarantined: insertInto(QUARANTINED),
  async hasRecord(invocations) {
    const ids = invocations.map(({ id }) => id)
    const recorded = await recordedIds(store.client, ids)
    return ids.map((id) => recorded.has(Buffer.from(id).toString('hex')))
  },
  correct: async () => undefined,
  log: broker.deps.log,
})

interface Options {
  readonly deps?: Partial<ActorDeps>
  readonly seen?: Partial<LoadSeenDeps>
  /** Replaces the default rule, for which `broken` events are poison. */
  readonly consumptionOf?: RowDeps['consumptionOf']
  readonly directory?: Directory
}

/** Runs the actors of a partition, as one process does, until `stop`. */
export function start(
  partition: number,
  stages: readonly StageName[] = ['a', 't', 'b', 'c'],
  { deps, seen, ...rule }: Options = {},
) {
  const stopping = new AbortController()
  const seenDeps: LoadSeenDeps = {
    findHeld: heldFinder({ ...broker.deps, partitions: () => partitionsHeld(broker.manager, PARTITIONS) }),
    clock: broker.deps.clock,
    logId: LOG_ID,
    partitions: PARTITIONS,
    recordSourcesSince: (of, sinceMs) =>
      recordSourcesSince(store.client, { partition: of, partitions: PARTITIONS }, sinceMs),
    recordSourcesOf: (ids, sinceMs) => recordSourcesOf(store.client, ids, sinceMs),
    filterBytesMax: () => 1e6,
    ...seen,
  }
  const facts = {
    ...ROW_DEPS,
    directory: directoryOf(),
    ...rule,
    settingsOf: () => DEFAULT_SETTINGS,
    policyOf: STAGE_C_DEPS.policyOf,
    mappingOf: () => NO_RULES,
  }
  const all = [
    stageA({ ...facts, partitions: PARTITIONS, loadSeen: (of) => loadSeenEvents(of, seenDeps) }),
    stageT({
      ...facts,
      loadTraces: (...mailbox) => loadTraces(...mailbox, { ...STAGE_C_DEPS, ...facts, ...broker.deps }),
    }),
    switchedOffStageB(),
    stageC(STAGE_C_DEPS),
  ]
  const running = all
    .filter(({ name }) => stages.includes(name))
    .map((stage) =>
      runPlannedLog(partitionActor(stage, partition, { ...actorDeps(), ...deps }), broker.deps, stopping.signal),
    )
  return {
    /** Simulates the death of the process: it has no further effects. */
    die(): never {
      stopping.abort()
      throw new Error('this process has died')
    },
    dead: Promise.all(running),
    async stop() {
      stopping.abort()
      await Promise.all(running)
    },
  }
}

/** Resolves when the stages, one after the other, have processed all their messages. */
export async function untilDone(partition: number, stages: readonly StageName[] = ['a', 't', 'b', 'c']): Promise<void> {
  for (const stage of stages) {
    await broker.untilDone(`${stage}.${partition}`, INVOCATIONS.name, invocationsSubject(stage, partition))
  }
}

export interface Sent {
  readonly number: number
  readonly key?: AdmissionKey
  readonly receivedAtMs?: number
  /** Stage A resolves the event by this service; absent: stage A hands it over. */
  readonly service?: string
  readonly provider?: string
}

let messages = 0
/** A name for the next message. */
export const nextMessage = (): string => `test.${++messages}`

export const FREE = ROW_DEPS.consumptionOf(event(1, 0))

/** The id of an event of this partition. */
export const idIn = (partition: number, number: number): Uint8Array => idOf(number * PARTITIONS + partition)

/** Sends one message with these events to stage A. */
export const send = (partition: number, events: readonly Sent[]): Promise<void> =>
  publish(partition, encodeGroup(events.map((each) => entryOf(partition, each))))

export function entryOf(
  partition: number,
  { number, key, receivedAtMs = Date.now(), service, provider = 'openai' }: Sent,
  position?: Position,
): string {
  const id = idIn(partition, number)
  const admission: Admission = { tenantId: 'tnt_one', principal: 'key_one', id, receivedAtMs, key }
  return encodeEntry(
    admission,
    validEvent({ provider, ...(service === undefined ? {} : { attributed_service: service }) }),
    position,
  )
}

export const publish = (partition: number, data: Uint8Array): Promise<void> =>
  publishOrThrow(broker.publish, invocationsSubject('a', partition), data, nextMessage())

export const keyOf = (number: number): AdmissionKey => ({
  hash: Buffer.from(idOf(number)),
  fingerprint: Buffer.alloc(8, number),
  flags: 0,
})

export async function lines(query: string): Promise<string[][]> {
  const result = await store.client.query({ query, format: 'JSONCompactEachRow' })
  return result.json<string[]>()
}

export const hexOf = (id: Uint8Array): string => Buffer.from(id).toString('hex')
export const hex = (partition: number, number: number): string => hexOf(idIn(partition, number))

/** Returns the number of rows per id, in order. */
async function rowsOf(table: string, column: string, ids: readonly Uint8Array[]): Promise<number[]> {
  const among = ids.map((id) => `unhex('${hexOf(id)}')`).join(', ')
  const counted = await lines(
    `SELECT lower(hex(${column})), toString(count()) FROM ${table} WHERE ${column} IN (${among}) GROUP BY 1`,
  )
  const counts = new Map(counted.map(([id, count]) => [id, Number(count)]))
  return ids.map((id) => counts.get(hexOf(id)) ?? 0)
}
export const keysOf = (numbers: readonly number[]): Promise<number[]> =>
  rowsOf('admission_keys', 'key_hash', numbers.map(idOf))
export const recordsOf = (partition: number, numbers: readonly number[], table = 'attributions'): Promise<number[]> =>
  rowsOf(
    table,
    'id',
    numbers.map((number) => idIn(partition, number)),
  )
