import { expect, test } from 'vitest'
import { connectBroker, ensureStreams } from '../../../internal/broker/connect.js'
import { brokerErrorCode } from '../../../internal/broker/errors.js'
import { EVENTS } from '../../../streams/events.js'
import { launchBroker } from '../../support/broker.js'

test('stream EVENTS gets the largest size that any role is configured with, and a role with a smaller size drops nothing', async () => {
  const { url } = await launchBroker()
  const broker = await connectBroker({ url, user: '', password: '', name: 'test' })
  const settings = { replicas: 1, invocationsBytesMax: 2 ** 20, observationsBytesMax: 2 ** 20 }
  const sizeAfter = async (eventsBytesMax?: number): Promise<number> => {
    await ensureStreams(broker, { ...settings, ...(eventsBytesMax !== undefined && { eventsBytesMax }) })
    return (await broker.manager.streams.info(EVENTS.name)).config.max_bytes
  }

  expect(await sizeAfter()).toBe(EVENTS.max_bytes)
  expect(await sizeAfter(2 * EVENTS.max_bytes)).toBe(2 * EVENTS.max_bytes)
  expect(await sizeAfter()).toBe(2 * EVENTS.max_bytes)
  expect(await sizeAfter(2 ** 20)).toBe(2 * EVENTS.max_bytes)
  await broker.close()
})

test('existing streams are updated even when the disk could not hold a second set of them', async () => {
  const { url } = await launchBroker('jetstream { max_file_store: 16GB }')
  const broker = await connectBroker({ url, user: '', password: '', name: 'test' })
  const settings = { replicas: 1, invocationsBytesMax: 8 * 1024 ** 3, observationsBytesMax: 2 ** 20 }

  await ensureStreams(broker, settings)
  await ensureStreams(broker, settings)
  await ensureStreams(broker, { ...settings, invocationsBytesMax: 4 * 1024 ** 3 })
  expect((await broker.manager.streams.info('INVOCATIONS')).config.max_bytes).toBe(4 * 1024 ** 3)
  const grown = await ensureStreams(broker, { ...settings, invocationsBytesMax: 15 * 1024 ** 3 }).catch(brokerErrorCode)
  expect(grown).toBe(10_047)
  await broker.close()
})

test('a disk that is too small for the streams is reported as such', async () => {
  const { url } = await launchBroker('jetstream { max_file_store: 6GB }')
  const broker = await connectBroker({ url, user: '', password: '', name: 'test' })
  const settings = { replicas: 1, invocationsBytesMax: 8 * 1024 ** 3, observationsBytesMax: 2 ** 20 }

  await expect(ensureStreams(broker, settings)).rejects.toThrow(
    /cannot reserve 8589934592 bytes of disk for stream INVOCATIONS/,
  )
  await broker.close()
})
