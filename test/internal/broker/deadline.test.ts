import { once } from 'node:events'
import { createConnection, createServer, type Socket } from 'node:net'
import type { NatsConnection } from '@nats-io/transport-node'
import { expect, test } from 'vitest'
import { within } from '../../../internal/broker/deadline.js'
import { createPublisher } from '../../../internal/broker/publisher.js'
import { atEnd } from '../../support/run/at-end.js'

/** Both ends of a connection within this process: what one writes is in the buffer of the other at once. */
async function connectionPair(): Promise<readonly [Socket, Socket]> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const accepted = once(server, 'connection') as Promise<[Socket]>
  const near = createConnection((server.address() as { port: number }).port, '127.0.0.1')
  const [far] = await accepted
  atEnd(() => {
    near.destroy()
    far.destroy()
    server.close()
  })
  return [near, far]
}

/** As long as this process has no processor time. */
const stall = (ms: number): void => void Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms)

test('an answer that came while the process had no processor time is in time', async () => {
  const [near, far] = await connectionPair()
  const answer = within(
    50,
    once(near, 'data').then(([bytes]) => String(bytes)),
    () => new Error('late'),
  )

  far.write('stored')
  stall(100)

  expect(await answer).toBe('stored')
})

test('an answer that did not come is late', async () => {
  await expect(within(1, new Promise(() => undefined), () => new Error('late'))).rejects.toThrow('late')
})

test('an acknowledgement that came while the process had no processor time counts', async () => {
  const [near, far] = await connectionPair()
  let onMessage: (error: null, message: object) => void = () => undefined
  const connection = {
    subscribe: (_: string, options: { callback: typeof onMessage }) => {
      onMessage = options.callback
    },
    publish: (_: string, __: Uint8Array, { reply }: { reply: string }) => {
      near.once('data', (data) => onMessage(null, { subject: reply, data, json: () => JSON.parse(String(data)) }))
    },
  } as unknown as NatsConnection

  const published = createPublisher(connection).publish('keys', Buffer.from('k'), '', 50)
  far.write('{"seq":7}')
  stall(100)

  expect(await published).toEqual({ kind: 'stored', sequence: 7, duplicate: false })
})
