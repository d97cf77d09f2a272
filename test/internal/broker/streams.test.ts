import { expect, test } from 'vitest'
import { connectBroker, ensureStreams } from '../../../internal/broker/connect.js'
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
