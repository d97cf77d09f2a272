import { expect, test } from 'vitest'
import { connectBroker, ensureStreams } from '../../../internal/broker/connect.js'
import { brokerErrorCode } from '../../../internal/broker/errors.js'
import { EVENTS } from '../../../streams/events.js'
import { launchBroker } from '../../support/broker.js'

test('the log of events takes the largest size that any role was told of, and drops nothing at the start of another', async () => {
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

test('logs that are there are taken as they are, where there is no room for others like them', async () => {
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

test('a disk without room for the logs is said to be so', async () => {
  const { url } = await launchBroker('jetstream { max_file_store: 6GB }')
  const broker = await connectBroker({ url, user: '', password: '', name: 'test' })
  const settings = { replicas: 1, invocationsBytesMax: 8 * 1024 ** 3, observationsBytesMax: 2 ** 20 }

  await expect(ensureStreams(broker, settings)).rejects.toThrow(
    /no room on its disk .* 8589934592 bytes for INVOCATIONS/,
  )
  await broker.close()
})
