import { expect, test } from 'vitest'
import { connectBroker, ensureStreams } from '../../../internal/broker/connect.js'
import { ConfigError } from '../../../internal/config/settings.js'
import { EVENTS } from '../../../streams/events.js'
import { launchBroker } from '../../support/broker.js'

test('existing streams are updated even when the disk could not hold a second set of them', async () => {
  const { url } = await launchBroker('jetstream { max_file_store: 16GB }')
  const broker = await connectBroker({ url, user: '', password: '', name: 'test' })
  const settings = { replicas: 1, invocationsBytesMax: 8 * 1024 ** 3, observationsBytesMax: 2 ** 20 }

  await ensureStreams(broker, settings)
  await broker.manager.streams.update('INVOCATIONS', { max_msg_size: 1024 })
  await ensureStreams(broker, settings)
  expect((await broker.manager.streams.info('INVOCATIONS')).config.max_msg_size).toBe(8 * 1024 * 1024)
  await broker.close()
})

test('replicas, placement and sizes of existing streams stay as they are', async () => {
  const { url } = await launchBroker()
  const broker = await connectBroker({ url, user: '', password: '', name: 'test' })
  await ensureStreams(broker, { replicas: 1, invocationsBytesMax: 2 ** 21, observationsBytesMax: 2 ** 21 })

  await ensureStreams(broker, {
    replicas: 3,
    invocationsBytesMax: 2 ** 20,
    observationsBytesMax: 2 ** 20,
    eventsBytesMax: 2 ** 20,
    placement: { tags: ['ssd'] },
  })

  for (const [name, bytes] of Object.entries({
    INVOCATIONS: 2 ** 21,
    OBSERVATIONS: 2 ** 21,
    EVENTS: EVENTS.max_bytes,
  })) {
    const { config } = await broker.manager.streams.info(name)
    expect(config).toMatchObject({ num_replicas: 1, max_bytes: bytes })
    expect(config.placement).toBeUndefined()
  }
  await broker.close()
})

test('a disk that is too small for the streams is reported as such', async () => {
  const { url } = await launchBroker('jetstream { max_file_store: 6GB }')
  const broker = await connectBroker({ url, user: '', password: '', name: 'test' })
  const settings = { replicas: 1, invocationsBytesMax: 8 * 1024 ** 3, observationsBytesMax: 2 ** 20 }

  const refusal = await ensureStreams(broker, settings).catch((cause: unknown) => cause)
  // Only the operator can help: a role ends with it and does not wait.
  expect(refusal).toBeInstanceOf(ConfigError)
  expect(String(refusal)).toMatch(/cannot reserve 8589934592 bytes of disk for stream INVOCATIONS/)
  await broker.close()
})
