import { beforeAll, expect, test } from 'vitest'
import { publishOrThrow } from '../../../internal/broker/publisher.js'
import { isUnprocessed } from '../../../internal/ingest/find-unprocessed.js'
import { encodeEntry, encodeGroup } from '../../../internal/invocations/invocation-group.js'
import { INVOCATIONS, invocationsSubject, type StageName } from '../../../streams/invocations.js'
import { idOf, NOW_MS, validEvent } from '../../support/invocations.js'
import { type LogBroker, launchLogBroker } from '../../support/planned-logs.js'

const PARTITIONS = 2

let broker: LogBroker
let messages = 0

beforeAll(async () => {
  broker = await launchLogBroker()
})

async function send(stage: StageName, partition: number, data: Uint8Array): Promise<number> {
  await publishOrThrow(broker.publish, invocationsSubject(stage, partition), data, `f${messages++}`)
  return (await broker.manager.streams.info(INVOCATIONS.name)).state.last_seq
}
const group = (...numbers: readonly number[]): Uint8Array =>
  encodeGroup(
    numbers.map((number) =>
      encodeEntry({ tenantId: 'tnt_one', principal: 'key_one', id: idOf(number), receivedAtMs: NOW_MS }, validEvent()),
    ),
  )
const done = (stage: StageName, partition: number, sequence: number) =>
  broker.deps.checkpoints.put(`${stage}.${partition}`, JSON.stringify({ done: sequence }))
const isFound = (number: number): Promise<boolean | undefined> =>
  isUnprocessed(idOf(number), {
    manager: broker.manager,
    checkpoints: broker.deps.checkpoints,
    partitions: PARTITIONS,
  })

test.each([
  ['l', 0, 11],
  ['a', 0, 12],
  ['a', 1, 13],
  ['t', 1, 14],
  ['b', 0, 15],
  ['c', 1, 16],
] as const)(
  'an event waits in a mailbox of stage %s, partition %i, until it is processed there',
  async (...mailbox) => {
    const [stage, partition, number] = mailbox
    await send(stage, partition, group(1, 2))
    // What is no group holds no events.
    await send(stage, partition, Buffer.from('{"corrections":[]}'))
    const sequence = await send(stage, partition, group(3, number))

    expect(await isFound(number)).toBe(true)
    expect(await isFound(number + 100)).toBe(false)
    await done(stage, partition, sequence)
    expect(await isFound(number)).toBe(false)
  },
)

test('while more waits than is searched, an event that was not found may be there', async () => {
  for (let i = 0; i < 1_000; i++) await send('b', 1, group(500))
  const last = await send('b', 1, group(501))

  expect(await isFound(500)).toBe(true)
  expect(await isFound(501)).toBeUndefined()
  await done('b', 1, last - 1)
  expect(await isFound(501)).toBe(true)
})
