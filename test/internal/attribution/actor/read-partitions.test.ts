import { expect, test } from 'vitest'
import { readPartitions } from '../../../../internal/attribution/actor/read-partitions.js'
import { partitionsHeld } from '../../../../internal/broker/partitions.js'
import { publishOrThrow } from '../../../../internal/broker/publisher.js'
import { invocationsSubject, type StageName } from '../../../../streams/invocations.js'
import { launchLogBroker } from '../../../support/planned-logs.js'

test('configured partitions are read immediately, others as soon as they hold messages of any stage', async () => {
  const broker = await launchLogBroker()
  const send = (stage: StageName, partition: number) =>
    publishOrThrow(broker.publish, invocationsSubject(stage, partition), Buffer.from('x'), `${stage}.${partition}`)
  await send('a', 1)
  await send('c', 12)
  const stopping = new AbortController()
  const read: number[] = []
  let polls = 0
  const held = async () => {
    if (polls++ === 0) throw new Error('the broker is unavailable')
    return partitionsHeld(broker.manager, 2)
  }

  await new Promise<void>((resolve) => {
    const ended = readPartitions(
      { partitions: 2, held, log: broker.deps.log },
      (partition) => {
        read.push(partition)
        if (partition === 12) void send('b', 7)
        if (partition !== 7) return
        stopping.abort()
        void ended.then(resolve)
      },
      stopping.signal,
    )
  })

  expect(read).toEqual([0, 1, 12, 7])
})
