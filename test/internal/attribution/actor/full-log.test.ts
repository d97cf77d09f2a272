import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { type ActorDeps, partitionActor } from '../../../../internal/attribution/actor/partition-actor.js'
import { HAND_ON, type Stage } from '../../../../internal/attribution/actor/stage.js'
import { runPlannedLog } from '../../../../internal/broker/planned-log.js'
import { purgeOnce } from '../../../../internal/broker/purge.js'
import {
  admittableBytes,
  followStreamCapacity,
  withinStreamCapacity,
} from '../../../../internal/broker/stream-capacity.js'
import { encodeEntry, encodeGroup } from '../../../../internal/invocations/invocation-group.js'
import { INVOCATIONS, invocationsSubject, isInvocations, REPLAY_WINDOW_MS } from '../../../../streams/invocations.js'
import { idOf, validEvent } from '../../../support/invocations.js'
import { launchLogBroker } from '../../../support/planned-logs.js'
import { finishedRow } from '../../../support/rows.js'

const BYTES_MAX = 12 * 1024 ** 2
const PARTITIONS = [0, 1]
const EVENTS_PER_GROUP = 100

const handingOver = (name: 'a' | 'b', next: 'b' | 'c'): Stage => ({
  name,
  next,
  open: async () => ({ handle: async ({ invocations }) => invocations.map(() => HAND_ON) }),
})
const STAGES: readonly Stage[] = [
  handingOver('a', 'b'),
  handingOver('b', 'c'),
  {
    name: 'c',
    next: undefined,
    open: async () => ({
      handle: async ({ invocations }) =>
        invocations.map(({ id }) => ({ kind: 'resolved', row: { ...finishedRow(), id } })),
    }),
  },
]

test('a log that filled up while no actor read it drains completely, with one record per accepted event', async () => {
  const broker = await launchLogBroker({ invocationsBytesMax: BYTES_MAX })
  const stopping = new AbortController()
  const { signal } = stopping
  const capacity = await followStreamCapacity(broker.manager, INVOCATIONS.name, { log: broker.deps.log, signal })
  const admit = withinStreamCapacity(broker.publish, capacity, isInvocations)
  const accepted = new Set<string>()
  for (let group = 0; ; group++) {
    const ids = Array.from({ length: EVENTS_PER_GROUP }, (_, i) => idOf(group * EVENTS_PER_GROUP + i))
    const entries = ids.map((id) =>
      encodeEntry(
        { tenantId: 'tnt_one', principal: 'key_one', id, receivedAtMs: Date.now(), key: undefined },
        validEvent(),
      ),
    )
    const subject = invocationsSubject('a', group % PARTITIONS.length)
    if ((await admit(subject, encodeGroup(entries), `admit.${group}`, 5_000)).kind !== 'stored') break
    for (const id of ids) accepted.add(Buffer.from(id).toString('hex'))
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
    partitions: PARTITIONS.length,
    publish: broker.publish,
    async insert(rows, token) {
      if (inserted.has(token)) return
      inserted.add(token)
      recorded.push(...rows.map(({ id }) => Buffer.from(id).toString('hex')))
      if (recorded.length >= accepted.size) allRecorded()
    },
    recordKeys: async () => undefined,
    recordQuarantined: async () => undefined,
    hasRecord: async (invocations) => invocations.map(() => false),
    correct: async () => undefined,
    log: broker.deps.log,
  }
  const mailboxes = STAGES.flatMap((stage) => PARTITIONS.map((partition) => partitionActor(stage, partition, deps)))
  const running = mailboxes.map((mailbox) => runPlannedLog(mailbox, broker.deps, signal))
  const purged = mailboxes.map((mailbox) => {
    return { ...mailbox, bytesMax: admittableBytes(BYTES_MAX), keepMs: REPLAY_WINDOW_MS }
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
