import { beforeAll, expect, test } from 'vitest'
import { loadSeenEvents } from '../../../../internal/attribution/actor/load-seen.js'
import { type ActorDeps, partitionActor } from '../../../../internal/attribution/actor/partition-actor.js'
import type { Stage } from '../../../../internal/attribution/actor/stage.js'
import { stageA } from '../../../../internal/attribution/stages/a/stage-a.js'
import { laneStage } from '../../../../internal/attribution/stages/lane.js'
import { DEFAULT_SETTINGS } from '../../../../internal/auth/tenant.js'
import { initialLayout, writeLayout } from '../../../../internal/broker/layout.js'
import { publishOrThrow } from '../../../../internal/broker/publisher.js'
import { NO_RULES } from '../../../../internal/directory/mapping/mapping-policy.js'
import { partitionOf } from '../../../../internal/ids/event-partition.js'
import { encodeEntry, encodeGroup } from '../../../../internal/invocations/invocation-group.js'
import { replayLaterLog } from '../../../../internal/local/backup/later-log.js'
import type { AttributionRow } from '../../../../internal/store/tables/attributions.js'
import { INVOCATIONS, invocationsSubject } from '../../../../streams/invocations.js'
import { directoryOf } from '../../../support/directory.js'
import { idOf, NOW_MS, validEvent } from '../../../support/invocations.js'
import { type LogBroker, launchLogBroker, startPlannedLog } from '../../../support/planned-logs.js'
import { ROW_DEPS, STAGE_C_DEPS } from '../../../support/stages.js'

/** A lane that had passed on half of its events when the instance was lost, and a restore that takes over its log. */

const PARTITIONS = 2
const LANE = invocationsSubject('l', 0)

let old: LogBroker
let restored: LogBroker
/** What the restored instance has recorded. */
const recorded: number[] = []

beforeAll(async () => {
  ;[old, restored] = await Promise.all([launchLogBroker(), launchLogBroker()])
  const layout = { ...initialLayout({}), version: 1, partitions: PARTITIONS }
  for (const broker of [old, restored]) await writeLayout(broker, layout, undefined)
})

/** Each in a message of its own; every second one has a key. */
async function send(subject: string, numbers: readonly number[]): Promise<void> {
  for (const number of numbers) {
    const key = { hash: Buffer.alloc(16, number), fingerprint: Buffer.alloc(8), flags: 0 }
    const admission = { tenantId: 'ten_1', principal: 'key_1', id: idOf(number), receivedAtMs: NOW_MS }
    const event = validEvent({ attributed_service: 'search' })
    const entry = encodeEntry({ ...admission, key: number % 2 === 0 ? key : undefined }, event)
    await publishOrThrow(old.publish, subject, encodeGroup([entry]), '')
  }
}

const numberOf = (id: Uint8Array): number => Buffer.from(id).readUInt32BE(4)
const nothing = async (): Promise<void> => undefined

function run(broker: LogBroker, stage: Stage, partition: number, insert: ActorDeps['insert'] = nothing) {
  const deps: ActorDeps = {
    partitions: PARTITIONS,
    publish: broker.publish,
    publishTogether: broker.publishTogether,
    insert,
    recordKeys: nothing,
    recordQuarantined: nothing,
    hasRecord: async (invocations) => invocations.map(() => false),
    correct: nothing,
    log: broker.deps.log,
  }
  return startPlannedLog(partitionActor(stage, partition, deps), broker.deps)
}

const lane = laneStage({ partitions: PARTITIONS, untilWorkedOff: nothing })
const facts = stageA({
  ...ROW_DEPS,
  partitions: PARTITIONS,
  directory: directoryOf(),
  settingsOf: () => DEFAULT_SETTINGS,
  policyOf: STAGE_C_DEPS.policyOf,
  mappingOf: () => NO_RULES,
  loadSeen: (partition) =>
    loadSeenEvents(partition, {
      findHeld: async () => [],
      clock: Date.now,
      partitions: PARTITIONS,
      logId: ROW_DEPS.logId,
      async *recordSourcesSince() {
        yield* []
      },
      recordSourcesOf: async () => [],
      filterBytesMax: () => 1e6,
    }),
})
const insert = async (rows: readonly AttributionRow[]): Promise<void> => {
  recorded.push(...rows.map(({ id }) => numberOf(id)))
}
const upTo = (from: number, to: number): number[] => Array.from({ length: to - from }, (_, i) => from + i)

test('each event of a lane that was half passed on gets one record after the restore', async () => {
  const streams = [{ config: (await restored.manager.streams.info(INVOCATIONS.name)).config, last_sequence: 0 }]
  // Of stages that are not taken over: behind them, the old sequences are higher than the new ones.
  for (const number of upTo(0, 100)) await publishOrThrow(old.publish, 'invocations.c.0', Buffer.of(number), '')
  await send(LANE, upTo(0, 20))
  const passing = run(old, lane, 0)
  await old.untilDone('l.0', INVOCATIONS.name, LANE)
  await passing.stop()
  // The log is crowded: what is done of the lane goes, and stage A has not come to it yet.
  await old.manager.streams.purge(INVOCATIONS.name, { filter: LANE, seq: 108 })
  await send(LANE, upTo(20, 40))
  // Repeats beside the lane.
  for (const number of [2, 12, 22]) await send(invocationsSubject('a', partitionOf(idOf(number), PARTITIONS)), [number])

  const actors = [run(restored, lane, 0), ...upTo(0, PARTITIONS).map((of) => run(restored, facts, of, insert))]
  await replayLaterLog({ broker: restored, old, streams, say: () => undefined })
  for (const actor of actors) await actor.stop()

  expect(recorded.sort((one, other) => one - other)).toEqual(upTo(0, 40))
})
