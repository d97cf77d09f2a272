import { headers } from '@nats-io/transport-node'
import { expect, test } from 'vitest'
import { connectBroker } from '../../../internal/broker/connect.js'
import { readLog } from '../../../internal/broker/log.js'
import { publishAllOrThrow } from '../../../internal/broker/publisher.js'
import { restoreStream, snapshotStream } from '../../../internal/broker/stream-snapshot.js'
import { readTail, replayTail } from '../../../internal/broker/stream-tail.js'
import { DIRECTORY, MODEL_ARTEFACTS } from '../../../streams/buckets.js'
import { EVENTS, eventsSubject } from '../../../streams/events.js'
import { INVOCATIONS } from '../../../streams/invocations.js'
import { launchBroker } from '../../support/broker.js'
import { launchLogBroker } from '../../support/planned-logs.js'
import { atEnd } from '../../support/run/at-end.js'

async function another() {
  const { url } = await launchBroker()
  const broker = await connectBroker({ url, user: '', password: '', name: 'restored' })
  atEnd(() => broker.connection.close())
  return broker
}

const taken = async (chunks: AsyncIterable<Uint8Array>): Promise<Uint8Array[]> => {
  const all: Uint8Array[] = []
  for await (const chunk of chunks) all.push(Buffer.from(chunk))
  return all
}
async function* given(chunks: readonly Uint8Array[]) {
  yield* chunks
}

test('a stream comes back with its sequences and ids, and with what it got since its snapshot', async () => {
  const from = await launchLogBroker()
  const publish = async (id: string, bytes = 10): Promise<void> => {
    const header = headers()
    header.set('Nats-Msg-Id', id)
    await from.manager
      .jetstream()
      .publish(`invocations.a.${id.length % 2}`, Buffer.alloc(bytes, id), { headers: header })
  }
  for (let i = 0; i < 200; i++) await publish(`before-${i}`, 20_000)
  await from.manager.streams.purge(INVOCATIONS.name, { seq: 50 })

  const { config, state, chunks } = await snapshotStream(from.connection, INVOCATIONS.name)
  for (let i = 0; i < 20; i++) await publish(`after-${i}`)
  const snapshot = await taken(chunks)
  const { lastSequence, messages } = await readTail(from.manager, INVOCATIONS.name, state.last_seq)
  expect(lastSequence).toBe(220)
  expect(messages).toHaveLength(220 - state.last_seq)

  const to = await another()
  await restoreStream(to.connection, { config, state, chunks: given(snapshot) })
  for (const message of messages) await replayTail(to.connection, message)

  const [before, after] = await Promise.all([from, to].map(({ manager }) => manager.streams.info(INVOCATIONS.name)))
  expect(after?.config).toEqual(before?.config)
  for (const part of ['first_seq', 'last_seq', 'messages'] as const)
    expect(after?.state[part]).toBe(before?.state[part])
  for (const sequence of [50, 51, 200, 201, 220]) {
    const [was, is] = await Promise.all(
      [from, to].map(({ manager }) => manager.streams.getMessage(INVOCATIONS.name, { seq: sequence })),
    )
    expect(is?.data).toEqual(was?.data)
    expect(is?.subject).toBe(was?.subject)
    expect(is?.header.get('Nats-Msg-Id')).toBe(was?.header.get('Nats-Msg-Id'))
  }
})

test('messages that were stored together since the snapshot come back one by one', async () => {
  const from = await launchLogBroker()
  const { config, state, chunks } = await snapshotStream(from.connection, EVENTS.name)
  const snapshot = await taken(chunks)
  const ids = Array.from({ length: 10 }, (_, i) => `evt_${i}`)
  const subject = eventsSubject('tnt_one', 'attribution.materialized')
  await publishAllOrThrow(from, ids, (messageId) => ({ subject, payload: Buffer.from(messageId), messageId }))
  const { messages } = await readTail(from.manager, EVENTS.name, state.last_seq)

  const to = await another()
  await restoreStream(to.connection, { config, state, chunks: given(snapshot) })
  for (const message of messages) await replayTail(to.connection, message)

  const range = { stream: EVENTS.name, subject, from: 1, messagesMax: 100, bytesMax: 2 ** 20 }
  expect((await readLog(to.manager, range)).map(({ messageId }) => messageId)).toEqual(ids)
})

test('buckets and object stores come back, with values that changed and keys that were deleted since', async () => {
  const from = await launchLogBroker()
  const bucket = await from.bucket(DIRECTORY)
  const objects = await from.objects(MODEL_ARTEFACTS)
  await bucket.put('kept', 'one')
  await bucket.put('changed', 'old')
  await bucket.put('deleted', 'old')
  const bytes = Buffer.alloc(400_000, 'model')
  await objects.putBlob({ name: 'model' }, bytes)
  const names = [`KV_${DIRECTORY.name}`, `OBJ_${MODEL_ARTEFACTS.name}`]
  const snapshots = []
  for (const name of names) {
    const { chunks, ...snapshot } = await snapshotStream(from.connection, name)
    snapshots.push({ ...snapshot, chunks: given(await taken(chunks)) })
  }
  await bucket.put('changed', 'new')
  await bucket.delete('deleted')
  await objects.putBlob({ name: 'second' }, Buffer.from('later'))

  const to = await another()
  for (const snapshot of snapshots) {
    await restoreStream(to.connection, snapshot)
    const { messages } = await readTail(from.manager, snapshot.config.name, snapshot.state.last_seq)
    for (const message of messages) await replayTail(to.connection, message)
  }

  const restored = await to.bucket(DIRECTORY)
  expect((await restored.get('kept'))?.string()).toBe('one')
  expect((await restored.get('changed'))?.string()).toBe('new')
  expect((await restored.get('deleted'))?.operation).toBe('DEL')
  const restoredObjects = await to.objects(MODEL_ARTEFACTS)
  expect(await restoredObjects.getBlob('model')).toEqual(new Uint8Array(bytes))
  expect(Buffer.from((await restoredObjects.getBlob('second')) ?? []).toString()).toBe('later')
})

test('a stream that is there already is not replaced', async () => {
  const from = await launchLogBroker()
  const { chunks, ...snapshot } = await snapshotStream(from.connection, INVOCATIONS.name)
  const all = await taken(chunks)

  await expect(restoreStream(from.connection, { ...snapshot, chunks: given(all) })).rejects.toThrow()
})
