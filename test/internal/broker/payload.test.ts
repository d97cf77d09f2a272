import { expect, test } from 'vitest'
import { connectBroker } from '../../../internal/broker/connect.js'
import { createPublisher, MESSAGE_TOO_LARGE, publishOrThrow } from '../../../internal/broker/publisher.js'
import { ConfigError } from '../../../internal/config/settings.js'
import { GROUP_BYTES_MAX, INVOCATIONS, invocationsSubject } from '../../../streams/invocations.js'
import { launchBroker } from '../../support/broker.js'

const settings = (url: string) => ({ url, user: '', password: '', name: 'test' })

test('a broker with defaults accepts a full group with headers; a larger message costs no connection', async () => {
  const { url } = await launchBroker()
  const broker = await connectBroker(settings(url))
  await broker.manager.streams.add({ ...INVOCATIONS, subjects: [...INVOCATIONS.subjects] })
  const { publish } = createPublisher(broker.connection)
  const subject = invocationsSubject('b', 0)
  const store = (bytes: number) =>
    publish(subject, new Uint8Array(bytes), `${'x'.repeat(200)}.${bytes}`, 2_000, { lastSubjectSequence: 0 })

  expect(await store(GROUP_BYTES_MAX)).toMatchObject({ kind: 'stored' })
  expect(await store(1024 * 1024)).toMatchObject({ kind: 'refused', errorCode: MESSAGE_TOO_LARGE })
  await expect(publishOrThrow(publish, subject, new Uint8Array(1024 * 1024), 'y')).rejects.toThrow(
    /refused.*max_payload/,
  )
  await broker.close()
})

test('a broker with a smaller max_payload is reported in one line', async () => {
  const { url } = await launchBroker('max_payload: 65536')

  const connecting = connectBroker(settings(url))

  await expect(connecting).rejects.toBeInstanceOf(ConfigError)
  await expect(connecting).rejects.toThrow(/at most 65536 bytes: set its max_payload to 1048576/)
})
