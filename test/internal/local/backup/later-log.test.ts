import { beforeAll, expect, test } from 'vitest'
import { type Change, encodeChange } from '../../../../internal/attribution/changes/change.js'
import { encodeSlice, sliceMessageId } from '../../../../internal/attribution/changes/reattribution-job.js'
import { initialLayout, writeLayout } from '../../../../internal/broker/layout.js'
import { publishOrThrow } from '../../../../internal/broker/publisher.js'
import { readTail } from '../../../../internal/broker/stream-tail.js'
import { invocationLogs } from '../../../../internal/broker/unprocessed.js'
import { encodeEntry, encodeGroup } from '../../../../internal/invocations/invocation-group.js'
import { type ReplayDeps, replayLaterLog } from '../../../../internal/local/backup/later-log.js'
import { CHECKPOINTS } from '../../../../streams/buckets.js'
import { CHANGES, changesSubject } from '../../../../streams/changes.js'
import { INVOCATIONS, invocationsSubject } from '../../../../streams/invocations.js'
import { idOf, NOW_MS, validEvent } from '../../../support/invocations.js'
import { type LogBroker, launchLogBroker } from '../../../support/planned-logs.js'

const PARTITIONS = 2
const layoutOf = (partitions: number) => ({ ...initialLayout({}), version: 1, partitions })

let old: LogBroker
let restored: LogBroker
let deps: ReplayDeps

const publish = (broker: LogBroker, subject: string, data: string | Uint8Array, id = '') =>
  publishOrThrow(broker.publish, subject, Buffer.from(data), id)
const change = (id: string, decision: Change['decision']): Uint8Array =>
  encodeChange({ id, tenantId: 'ten_1', recordId: 'a'.repeat(32), actor: 'key_1', decision })

/** Both have two calls and a decision; the backup is of then. The old one has gone on. */
beforeAll(async () => {
  ;[old, restored] = await Promise.all([launchLogBroker(), launchLogBroker()])
  for (const broker of [old, restored]) {
    await writeLayout(broker, layoutOf(PARTITIONS), undefined)
    await publish(broker, invocationsSubject('a', 0), 'one')
    await publish(broker, invocationsSubject('b', 0), 'two')
    await publish(broker, changesSubject('ten_1'), change('chg_1', { kind: 'undo_dispute' }), 'chg_1')
  }
  const streams = await Promise.all(
    [INVOCATIONS, CHANGES].map(async ({ name }) => {
      const { config, state } = await restored.manager.streams.info(name)
      return { config, last_sequence: state.last_seq }
    }),
  )
  // As far as an attributor can come.
  const checkpoints = await restored.bucket(CHECKPOINTS)
  const logs = await invocationLogs(restored.manager, PARTITIONS)
  const keys = [...logs.map(({ key }) => key), 'changes', 'observations', 'audit']
  for (const key of keys) await checkpoints.put(key, JSON.stringify({ done: 1_000_000 }))
  deps = { broker: restored, old, streams, say: () => undefined }

  await publish(old, invocationsSubject('a', 1), 'purged')
  await old.manager.streams.purge(INVOCATIONS.name, { filter: invocationsSubject('a', 1) })
  await publish(old, invocationsSubject('a', 1), 'three', 'a group')
  // The lane's first message behind the backup is gone, the second one is not; stage A has both, and one from before.
  await publish(old, invocationsSubject('l', 0), 'purged')
  const purgedAt = await lastOf(old)
  await old.manager.streams.purge(INVOCATIONS.name, { filter: invocationsSubject('l', 0) })
  await publish(old, invocationsSubject('l', 0), laneGroup)
  const laneAt = await lastOf(old)
  const handed = handedOn([9, 1], [purgedAt, 2], [laneAt, 3], [purgedAt, 4])
  await publish(old, invocationsSubject('a', 1), handed, 'hand.l0.5000.0')
  await publish(old, invocationsSubject('a', 0), handedOn([laneAt, 5]), 'hand.l0.5000.1')
  await publish(old, invocationsSubject('b', 1), 'made again')
  await publish(old, invocationsSubject('a', 0), 'four')
  const found = { kind: 'correction', verdict: { service: 's', owner: 'o', evidenceBasis: 'trace' } }
  await publish(old, changesSubject('ten_1'), change('cor_1', found as unknown as Change['decision']), 'cor_1')
  const slice = { jobId: 'job_1', slice: 0 }
  await publish(old, changesSubject('ten_1'), encodeSlice(slice), sliceMessageId(slice))
  await publish(old, changesSubject('ten_1'), 'poison')
  await publish(old, changesSubject('ten_1'), change('chg_2', { kind: 'dispute', reason: 'Not ours.' }), 'chg_2')
  await publish(old, changesSubject('ten_1'), change('chg_2', { kind: 'promised', decided: 'dispute', traceId: 't' }))
})

const lastOf = async ({ manager }: LogBroker): Promise<number> =>
  (await manager.streams.info(INVOCATIONS.name)).state.last_seq

const admissionOf = (number: number) => {
  const key = { hash: new Uint8Array(16).fill(number), fingerprint: new Uint8Array(8), flags: 0 }
  return { tenantId: 'ten_1', principal: 'key_1', id: idOf(number), receivedAtMs: NOW_MS, key }
}
/** As a gateway sends it. */
const groupOf = (...numbers: readonly number[]): Uint8Array =>
  encodeGroup(numbers.map((number) => encodeEntry(admissionOf(number), validEvent())))
const laneGroup = groupOf(3, 5)
/** As the lane hands it on. @param events the sequence of each one's first message, and its number */
const handedOn = (...events: readonly (readonly [sequence: number, number: number])[]): Uint8Array =>
  encodeGroup(
    events.map(([sequence, number]) =>
      encodeEntry(admissionOf(number), validEvent(), { sequence, index: number }, true),
    ),
  )

const later = async (stream: string, after: number) =>
  (await readTail(restored.manager, stream, after)).messages.map(({ subject, data, headers }) => ({
    subject,
    data: Buffer.from(data, 'base64').toString(),
    id: headers.find(([name]) => name === 'Nats-Msg-Id')?.[1],
  }))

test('a log that was laid out otherwise since is not replayed', async () => {
  const found = { layout: layoutOf(PARTITIONS + 1), revision: 1 }
  await writeLayout(old, found.layout, found.revision)
  const { messages, refusal } = await replayLaterLog(deps)
  expect([messages.size, refusal]).toEqual([0, 'the number of partitions has changed since the backup'])
  await writeLayout(old, layoutOf(PARTITIONS), 2)
})

test('of the later log, calls and decisions of people are taken in order, and what was purged is counted', async () => {
  const { messages, purged } = await replayLaterLog(deps)

  expect(Object.fromEntries(messages)).toEqual({ INVOCATIONS: 4, CHANGES: 2 })
  expect(Object.fromEntries(purged)).toEqual({ INVOCATIONS: 2 })
  expect(await later(INVOCATIONS.name, 2)).toEqual([
    { subject: 'invocations.a.1', data: 'three', id: 'a group' },
    { subject: 'invocations.l.0', data: Buffer.from(laneGroup).toString(), id: undefined },
    // What the lane has handed on is handed on again, except for what it no longer has.
    { subject: 'invocations.a.1', data: Buffer.from(groupOf(2, 4)).toString(), id: undefined },
    { subject: 'invocations.a.0', data: 'four', id: undefined },
  ])
  const decisions = (await later(CHANGES.name, 1)).map(({ data }) => JSON.parse(data).decision.kind)
  expect(decisions).toEqual(['dispute', 'promised'])
})
