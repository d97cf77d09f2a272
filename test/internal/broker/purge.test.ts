import { beforeAll, expect, test } from 'vitest'
import { publishOrThrow } from '../../../internal/broker/publisher.js'
import { type PurgedLog, purgeOnce } from '../../../internal/broker/purge.js'
import { INVOCATIONS, invocationsSubject } from '../../../streams/invocations.js'
import { type LogBroker, launchLogBroker } from '../../support/planned-logs.js'

let broker: LogBroker

beforeAll(async () => {
  broker = await launchLogBroker()
})

let partitions = 0

interface Given extends Pick<PurgedLog, 'keepMs' | 'neededFrom'> {
  /** How long ago the last batch was. */
  readonly idleMs?: number
}

/** A mailbox of ten messages that are done, but for the last. @param full the share of the log that is filled */
async function remaining(full: number, { keepMs, idleMs = 0, neededFrom }: Given): Promise<number> {
  const partition = partitions++
  const log = { key: `t.${partition}`, stream: INVOCATIONS.name, subject: invocationsSubject('t', partition) }
  for (let i = 0; i < 10; i++) {
    await publishOrThrow(broker.publish, log.subject, Buffer.from('x'), `${log.subject}.${i}`)
  }
  const { state } = await broker.manager.streams.info(INVOCATIONS.name)
  const nowMs = Date.now() + 1_000
  const checkpoint = { done: state.last_seq - 1, doneMs: nowMs - idleMs, first: state.last_seq - 9 }
  await broker.deps.checkpoints.put(log.key, JSON.stringify(checkpoint))

  const purged = { ...log, bytesMax: state.bytes / full, keepMs, ...(neededFrom && { neededFrom }) }
  await purgeOnce({ ...broker.deps, manager: broker.manager }, [purged], nowMs)

  const left = await broker.deps.readLog({ ...log, from: 1, messagesMax: 100, bytesMax: 1e6 })
  return left.length
}

const DAY_MS = 24 * 3_600_000
/** All but the first three messages. */
const neededFrom = (checkpoint: object): number => (checkpoint as { readonly first: number }).first + 3

test('done messages are kept for their time, and purged sooner while the log is crowded', async () => {
  expect(await remaining(0.7, { keepMs: DAY_MS })).toBe(10)
  expect(await remaining(0.85, { keepMs: DAY_MS })).toBe(1)
  expect(await remaining(0.7, { keepMs: 0 })).toBe(1)
})

test('those that the next owner reads again are purged only when the log is nearly full, or idle', async () => {
  expect(await remaining(0.7, { keepMs: 0, neededFrom })).toBe(7)
  expect(await remaining(0.7, { keepMs: 0, neededFrom, idleMs: 1 })).toBe(1)
  expect(await remaining(0.85, { keepMs: DAY_MS, neededFrom })).toBe(7)
  expect(await remaining(0.96, { keepMs: DAY_MS, neededFrom })).toBe(1)
  expect(await remaining(0.85, { keepMs: DAY_MS, neededFrom: () => undefined })).toBe(1)
})
