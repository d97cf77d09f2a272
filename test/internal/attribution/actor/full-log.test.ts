import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { type ActorDeps, partitionActor } from '../../../../internal/attribution/actor/partition-actor.js'
import type { Stage } from '../../../../internal/attribution/actor/stage.js'
import { stageA } from '../../../../internal/attribution/stages/a/stage-a.js'
import { stageC } from '../../../../internal/attribution/stages/c/stage-c.js'
import { laneStage } from '../../../../internal/attribution/stages/lane.js'
import { stageT } from '../../../../internal/attribution/stages/t/stage-t.js'
import { runPlannedLog } from '../../../../internal/broker/planned-log.js'
import { purgeOnce } from '../../../../internal/broker/purge.js'
import {
  admittableBytes,
  followStreamCapacity,
  withinStreamCapacity,
} from '../../../../internal/broker/stream-capacity.js'
import { idHex } from '../../../../internal/ids/ids.js'
import { encodeEntry, encodeGroup } from '../../../../internal/invocations/invocation-group.js'
import {
  INVOCATIONS,
  invocationsSubject,
  isInvocations,
  mailboxes,
  REPLAY_WINDOW_MS,
} from '../../../../streams/invocations.js'
import { idOf, validEvent } from '../../../support/invocations.js'
import { launchLogBroker } from '../../../support/planned-logs.js'
import { noTraces, STAGE_C_DEPS, switchedOffStageB } from '../../../support/stages.js'
import { FACTS_DEPS } from '../../../support/traced-calls.js'

const BYTES_MAX = 12 * 1024 ** 2
const PARTITIONS = 2
const EVENTS_PER_GROUP = 100

/** Nearly as open-attributor.ts builds them: the lane and the stages A, T, B and C. */
const STAGES: readonly Stage[] = [
  laneStage({ partitions: PARTITIONS, untilWorkedOff: async () => undefined }),
  stageA({
    ...FACTS_DEPS,
    partitions: PARTITIONS,
    loadSeen: async () => ({ duplicatesIn: async (events) => events.map(() => false) }),
  }),
  stageT({ ...FACTS_DEPS, loadTraces: async () => noTraces() }),
  switchedOffStageB(),
  stageC(STAGE_C_DEPS),
]

/** Every second call states its service, which the actor of its trace learns; the other is silent, and passes them all. */
const entryOf = (number: number): string =>
  encodeEntry(
    { tenantId: 'tnt_one', principal: 'key_one', id: idOf(number), receivedAtMs: Date.now(), key: undefined },
    validEvent({
      trace_id: `trace-${number}`,
      ...(Math.floor(number / PARTITIONS) % 2 === 0 && { attributed_service: 'search' }),
    }),
  )

test('a log that filled up while no actor read it drains completely, with one record per accepted event', async () => {
  const broker = await launchLogBroker({ invocationsBytesMax: BYTES_MAX })
  const stopping = new AbortController()
  const { signal } = stopping
  const capacity = await followStreamCapacity(broker.manager, INVOCATIONS.name, { log: broker.deps.log, signal })
  const admit = withinStreamCapacity(broker.publish, capacity, isInvocations)
  const accepted = new Set<string>()
  for (let group = 0; ; group++) {
    // Of one partition, or of the lane.
    const numbers = Array.from({ length: EVENTS_PER_GROUP }, (_, i) => {
      return PARTITIONS * (group * EVENTS_PER_GROUP + i) + (group % PARTITIONS)
    })
    const subject = group % 3 === 0 ? invocationsSubject('l', 0) : invocationsSubject('a', group % PARTITIONS)
    if ((await admit(subject, encodeGroup(numbers.map(entryOf)), `admit.${group}`, 5_000)).kind !== 'stored') break
    for (const number of numbers) accepted.add(idHex(idOf(number)))
  }
  expect((await broker.manager.streams.info(INVOCATIONS.name)).state.bytes).toBeGreaterThan(
    admittableBytes(BYTES_MAX) * 0.9,
  )

  const recorded: string[] = []
  const inserted = new Set<string>()
  let allRecorded = (): void => undefined
  const done = new Promise<void>((resolve) => {
    allRecorded = resolve
  })
  const deps: ActorDeps = {
    partitions: PARTITIONS,
    publish: broker.publish,
    publishTogether: broker.publishTogether,
    async insert(rows, token) {
      if (inserted.has(token)) return
      inserted.add(token)
      recorded.push(...rows.map(({ id }) => idHex(id)))
      if (recorded.length >= accepted.size) allRecorded()
    },
    recordKeys: async () => undefined,
    recordQuarantined: async () => undefined,
    hasRecord: async (invocations) => invocations.map(() => false),
    correct: async () => undefined,
    log: broker.deps.log,
  }
  const actors = mailboxes([...Array(PARTITIONS).keys()]).flatMap(({ stage: name, partition }) =>
    STAGES.filter((stage) => stage.name === name).map((stage) => partitionActor(stage, partition, deps)),
  )
  const running = actors.map((actor) => runPlannedLog(actor, broker.deps, signal))
  const purged = actors.map((actor) => {
    return { ...actor, bytesMax: admittableBytes(BYTES_MAX), keepMs: REPLAY_WINDOW_MS }
  })
  const purging = (async () => {
    while (!signal.aborted) {
      await purgeOnce({ ...broker.deps, manager: broker.manager }, purged, Date.now())
      await sleep(100, undefined, { signal }).catch(() => undefined)
    }
  })()
  await done
  stopping.abort()
  await Promise.all([...running, purging])

  expect(accepted.size).toBeGreaterThan(1_000)
  expect(recorded.length).toBe(accepted.size)
  expect(new Set(recorded)).toEqual(accepted)
})
