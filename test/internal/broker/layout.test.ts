import { beforeEach, expect, test } from 'vitest'
import { type Broker, connectBroker } from '../../../internal/broker/connect.js'
import { agreeOnLayout, type Layout, openStreams, partitionsOf, readLayout } from '../../../internal/broker/layout.js'
import { applyLayout, changesTo, obstaclesTo } from '../../../internal/broker/layout-changes.js'
import { createPublisher } from '../../../internal/broker/publisher.js'
import { ConfigError } from '../../../internal/config/settings.js'
import { CHECKPOINTS, LAYOUT, MEMBERS } from '../../../streams/buckets.js'
import { INVOCATIONS, invocationsSubject } from '../../../streams/invocations.js'
import { KEYS } from '../../../streams/keys.js'
import { launchBroker } from '../../support/broker.js'
import { atEnd } from '../../support/run/at-end.js'

let broker: Broker
beforeEach(async () => {
  const { url } = await launchBroker()
  const connected = await connectBroker({ url, user: '', password: '', name: 'test' })
  atEnd(() => connected.close())
  broker = connected
})

const small = {
  invocationsBytesMax: 2 ** 20,
  observationsBytesMax: 2 ** 20,
  eventsBytesMax: 2 ** 20,
  keysBytesMax: 2 ** 20,
}
const found = async () => {
  const layout = await readLayout(broker)
  if (layout === undefined) throw new Error('the broker has no layout')
  return layout
}
const logSize = async (): Promise<number> => (await broker.manager.streams.info(INVOCATIONS.name)).config.max_bytes

test('the first process writes the layout that its settings say; one without settings takes it', async () => {
  const first = await openStreams(broker, { ...small, partitions: 5 }, true)
  const second = await openStreams(broker, {}, false)

  expect(first).toMatchObject({ version: 1, partitions: 5, replicas: 1, ...small })
  expect(second).toEqual(first)
  expect(await logSize()).toBe(2 ** 20)
})

test('processes that start at the same time agree on one layout', async () => {
  const layouts = await Promise.all([1, 2, 3, 4].map(() => agreeOnLayout(broker, small, true)))

  expect(layouts).toEqual(layouts.map(() => layouts[0]))
  expect((await found()).layout).toEqual(layouts[0])
})

test('a setting that contradicts the layout is refused in one line, and nothing is changed', async () => {
  await openStreams(broker, { ...small, partitions: 2 }, true)
  const before = await found()

  const wrong = openStreams(broker, { partitions: 5, streamReplicas: 3, invocationsBytesMax: 2 ** 21 }, true)

  await expect(wrong).rejects.toBeInstanceOf(ConfigError)
  await expect(wrong).rejects.toThrow(
    [
      '--partitions (or ATTRIBUTION_PARTITIONS) is 5, but the layout of the broker has 2: leave the setting out, ' +
        'or change the layout with "attribution streams apply --partitions 5"',
      '--stream-replicas (or ATTRIBUTION_STREAM_REPLICAS) is 3, but the layout of the broker has 1: leave the ' +
        'setting out, or change the layout with "attribution streams apply --stream-replicas 3"',
      '--invocations-bytes-max (or ATTRIBUTION_INVOCATIONS_BYTES_MAX) is 2097152, but the layout of the broker ' +
        'has 1048576: leave the setting out, or change the layout with "attribution streams apply ' +
        '--invocations-bytes-max 2097152"',
    ].join('; '),
  )
  expect(await found()).toEqual(before)
  expect(await logSize()).toBe(2 ** 20)
})

test('a broker whose streams are older than layouts keeps them; the first gateway decides the partitions', async () => {
  const { manager } = broker
  await manager.streams.add({ ...INVOCATIONS, subjects: [...INVOCATIONS.subjects], max_bytes: 4 * 1024 ** 2 })

  const sentinel = await openStreams(broker, {}, false)
  expect(sentinel.partitions).toBeUndefined()
  expect(partitionsOf(sentinel)).toBe(2)

  expect(await openStreams(broker, { partitions: 4 }, true)).toEqual({ ...sentinel, version: 2, partitions: 4 })
})

const change = async (change: Partial<Layout>): Promise<void> => {
  const before = await found()
  const after = { ...before.layout, ...change }
  const obstacles = await obstaclesTo(broker, before.layout, after)
  if (obstacles.length > 0) throw new Error(obstacles.join('; '))
  await applyLayout(broker, before, after)
}

test('a new size is planned, then applied to the stream and written to the layout', async () => {
  const layout = await openStreams(broker, small, true)
  const after = { ...layout, invocationsBytesMax: 2 ** 22 }

  expect(await changesTo(broker, after)).toEqual([
    { stream: 'INVOCATIONS', property: 'bytes', from: '1048576', to: '4194304' },
  ])
  expect(await logSize()).toBe(2 ** 20)
  await change({ invocationsBytesMax: 2 ** 22 })

  expect(await logSize()).toBe(2 ** 22)
  expect(await changesTo(broker, after)).toEqual([])
  expect((await found()).layout).toEqual({ ...after, version: 2 })
})

test('a layout written before KEYS was a part of it has the size that KEYS had, and may change it', async () => {
  await openStreams(broker, { ...small, keysBytesMax: 2 * 1024 ** 3 }, true)
  const bucket = await broker.bucket(LAYOUT)
  const { keys_bytes_max: _, ...old } = (await bucket.get('layout'))?.json<Record<string, unknown>>() ?? {}
  await bucket.put('layout', JSON.stringify(old))

  expect((await openStreams(broker, {}, true)).keysBytesMax).toBe(2 * 1024 ** 3)
  await change({ keysBytesMax: 2 ** 20 })
  await openStreams(broker, {}, true)

  expect((await broker.manager.streams.info(KEYS.name)).config.max_bytes).toBe(2 ** 20)
  expect((await found()).layout.keysBytesMax).toBe(2 ** 20)
})

test('a size below what the stream holds is refused', async () => {
  await openStreams(broker, { ...small, invocationsBytesMax: 2 ** 22 }, true)
  const { publish } = createPublisher(broker.connection)
  for (const id of ['1', '2', '3']) {
    await publish(invocationsSubject('a', 0), new Uint8Array(512 * 1024), id, 5_000)
  }

  await expect(change({ invocationsBytesMax: 2 ** 20 })).rejects.toThrow(
    /^INVOCATIONS holds \d+ bytes, more than 1048576$/,
  )
  expect(await logSize()).toBe(2 ** 22)
})

test('more partitions than the log has a reserve for are refused, with the size that it needs', async () => {
  const many = { partitions: 64, invocationsBytesMax: 2 ** 30 }
  const refusal = /^--invocations-bytes-max must be at least 23\d{8} with 64 partitions: a full log of 1073741824 /
  await expect(openStreams(broker, many, true)).rejects.toBeInstanceOf(ConfigError)
  await expect(openStreams(broker, many, true)).rejects.toThrow(refusal)
  expect(await readLayout(broker)).toBeUndefined()

  await openStreams(broker, { invocationsBytesMax: 2 ** 30, partitions: 27 }, true)
  await expect(change({ partitions: 64 })).rejects.toThrow(refusal)
  await change({ partitions: 64, invocationsBytesMax: 3 * 2 ** 30 })

  expect((await found()).layout).toMatchObject({ partitions: 64, version: 2 })
})

test('a change that the broker refuses leaves the layout as it was', async () => {
  await openStreams(broker, small, true)

  await expect(change({ replicas: 3 })).rejects.toThrow(
    /the broker refuses the change of INVOCATIONS: .*; 0 of \d+ streams/,
  )

  expect((await found()).layout.replicas).toBe(1)
})

test('the number of partitions changes only when every stage has no events left and no gateway or attributor runs', async () => {
  await openStreams(broker, { ...small, partitions: 2 }, true)
  const members = await broker.bucket(MEMBERS)
  await members.put('gateway.one', '{}')
  await expect(change({ partitions: 4 })).rejects.toThrow('while no gateway runs; 1 run')
  await members.delete('gateway.one')
  const { publish } = createPublisher(broker.connection)
  await publish(invocationsSubject('b', 1), Buffer.from('event'), 'one', 5_000)
  const checkpoints = await broker.bucket(CHECKPOINTS)

  await expect(change({ partitions: 4 })).rejects.toThrow(/^invocations\.b\.1 has events that are not worked off yet/)
  await checkpoints.put('b.1', JSON.stringify({ done: 0, plan: { first: 1, last: 1, atMs: 1 } }))
  await expect(change({ partitions: 4 })).rejects.toThrow('invocations.b.1')
  await checkpoints.put('b.1', JSON.stringify({ done: 1 }))
  await members.put('attributor.one', '{}')
  await expect(change({ partitions: 4 })).rejects.toThrow('now stop the attributors; 1 run')
  await members.delete('attributor.one')
  await change({ partitions: 4 })

  expect((await found()).layout).toMatchObject({ partitions: 4, version: 2 })
})

/** A broker as 0.3.0 leaves it: its layout says nothing about whose hash chooses a partition. */
async function openedByOlder(): Promise<void> {
  await openStreams(broker, { ...small, partitions: 2 }, true)
  const bucket = await broker.bucket(LAYOUT)
  const { partitions_by: _, ...stored } = (await bucket.get('layout'))?.json<Record<string, unknown>>() ?? {}
  await bucket.put('layout', JSON.stringify(stored))
}

test('a broker of 0.3.0 whose processes have stopped is taken over by all that start, with events that wait', async () => {
  await openedByOlder()
  const { publish } = createPublisher(broker.connection)
  await publish(invocationsSubject('a', 1), Buffer.from('event'), 'one', 5_000)
  await (await broker.bucket(CHECKPOINTS)).put('a.1', JSON.stringify({ done: 0 }))

  const layouts = await Promise.all([1, 2, 3].map(() => openStreams(broker, {}, true)))

  expect(layouts[0]).toMatchObject({ partitionsBy: 'event', partitions: 2, version: 2 })
  expect(layouts).toEqual(layouts.map(() => layouts[0]))
  // Its own processes run now, and are no obstacle to those that start later.
  await (await broker.bucket(MEMBERS)).put('gateway.new', '{}')
  expect(await openStreams(broker, {}, true)).toEqual(layouts[0])
})

test('a role does not start beside a gateway or attributor of 0.3.0', async () => {
  await openedByOlder()
  const members = await broker.bucket(MEMBERS)
  await members.put('attributor.killed', '{}')
  const beat = setInterval(() => void members.put('gateway.one', '{}'), 500)
  atEnd(async () => clearInterval(beat))

  const refused = openStreams(broker, {}, true)

  await expect(refused).rejects.toBeInstanceOf(ConfigError)
  await expect(refused).rejects.toThrow(/replace 0\.3\.0: stop the gateways of 0\.3\.0, of which 1 run$/)
  expect((await found()).layout.partitionsBy).toBeUndefined()
})

test('a role does not start while a batch of 0.3.0 is begun and not ended', async () => {
  await openedByOlder()
  const checkpoints = await broker.bucket(CHECKPOINTS)
  await checkpoints.put('a.0', JSON.stringify({ done: 7 }))
  await checkpoints.put('b.1', JSON.stringify({ done: 0, plan: { first: 1, last: 1, atMs: 1, routing: '' } }))

  await expect(openStreams(broker, {}, true)).rejects.toThrow(
    'start 0.3.0 again, and stop it with SIGTERM: it has not ended its batch of invocations.b.1',
  )
  await checkpoints.put('b.1', JSON.stringify({ done: 1 }))

  expect(await openStreams(broker, {}, true)).toMatchObject({ partitionsBy: 'event' })
})
