import { execFileSync } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { connect } from 'node:net'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { connectService, type ServiceClient } from '../../internal/local/replay/client.js'
import { freePort } from '../../internal/local/supervisor/supervised-instance.js'
import { freeze, thaw } from '../support/freeze.js'
import { type Posted, postTo, wireEvent } from '../support/gateway.js'
import { launch } from '../support/processes.js'
import { gatewayEnvironment, launchService, type RunningService } from '../support/service.js'
import { allRecords } from '../support/trace.js'

const GATEWAY_MAIN = fileURLToPath(new URL('../../dist/cmd/gateway/main.js', import.meta.url))
const SPOOL_BYTES_MAX = 1024 * 1024

let service: RunningService
let client: ServiceClient

beforeAll(async () => {
  service = await launchService({
    roles: [],
    args: ['--rate-read', '100000', '--tuning', `spool-bytes-max=${SPOOL_BYTES_MAX}`],
  })
  client = connectService(service.baseUrl, service.credentials.api_key, 16)
})

afterAll(async () => {
  await client.close()
  await service.stop()
})

/** Stands still instead of dying, so that nothing restarts it. */
const freezeBroker = () => freeze(service.pid('nats'))
const thawBroker = () => thaw(service.pid('nats'))

/** A large event, of which few fill the spool: sixteen tags of the greatest length. */
const large = (): string => {
  const tags = Object.fromEntries(Array.from({ length: 16 }, (_, i) => [`tag-${i}`, 'v'.repeat(256)]))
  return JSON.stringify(wireEvent({ tags }))
}

interface Sent extends Posted {
  readonly key: string
  readonly sent: string
}

const post = async (sent: string, key: string = randomUUID()): Promise<Sent> => ({
  ...(await postTo(`${service.baseUrl}/api/v1/invocations`, service.credentials.api_key, sent, key)),
  key,
  sent,
})

/** Sends one after the other until one is not taken. */
async function fill(): Promise<{ readonly taken: Sent[]; readonly refused: Sent }> {
  const taken: Sent[] = []
  for (;;) {
    const answer = await post(large())
    if (answer.status !== 202) return { taken, refused: answer }
    taken.push(answer)
  }
}

/** Sends a request again as it was until it is taken. */
async function repeated({ sent, key }: Sent): Promise<Sent> {
  for (;;) {
    const answer = await post(sent, key)
    if (answer.status === 202) return answer
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
}

const idOf = ({ text }: Posted): string => (JSON.parse(text) as { invocation_id: string }).invocation_id

/** Each of these is a record, once. */
async function expectRecords(answers: readonly Sent[]): Promise<void> {
  const wanted = new Set(answers.map(idOf))
  let found: string[] = []
  do {
    const records = await allRecords(client)
    found = records.map(({ invocation_id }) => invocation_id).filter((id) => wanted.has(id))
  } while (new Set(found).size < wanted.size)
  expect(found.length).toBe(wanted.size)
}

describe('an outage of the broker', () => {
  test('broker down, spool full: accepted events are kept, others get 503, free space resumes admission', async () => {
    await freezeBroker()
    const { taken, refused } = await fill()
    const ready = await fetch(`${service.baseUrl}/readyz?surface=ingestion`)
    thawBroker()
    const later = await repeated(refused)

    expect(ready.status).toBe(503)
    expect(taken.length).toBeGreaterThan(10)
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '1'])
    expect(JSON.parse(refused.text)).toMatchObject({ error_code: 'SERVICE_UNAVAILABLE' })
    await expectRecords([...taken, later])
  })

  test('broker down, disk full: accepted events are kept, others get 503, free space resumes admission', async () => {
    const gateway = String(service.pid('gateway'))
    // No file of the gateway may grow beyond this: to it, the same as a disk without room.
    execFileSync('prlimit', ['--pid', gateway, '--fsize=65536:unlimited'])
    await freezeBroker()
    const { taken, refused } = await fill()
    execFileSync('prlimit', ['--pid', gateway, '--fsize=unlimited:unlimited'])
    thawBroker()
    const later = await repeated(refused)

    expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '1'])
    await expectRecords([...taken, later])
  })

  test('a gateway that starts without a broker listens once it can serve, and ends when it is told to', async () => {
    const port = await freePort()
    const gateway = launch(GATEWAY_MAIN, {
      args: ['--port', String(port), '--intake-port', '0', '--data-dir', `${service.dataDir}/alone`],
      env: { ...gatewayEnvironment(service), ATTRIBUTION_NATS_URL: `nats://127.0.0.1:${await freePort()}` },
    })
    await gateway.line(/waiting for NATS at/)
    await expect(fetch(`http://127.0.0.1:${port}/healthz`)).rejects.toThrow()

    expect(await gateway.kill('SIGTERM')).toMatchObject({ signal: 'SIGTERM' })
  })
})

describe('a connection that keeps the server waiting', () => {
  /** Resolves when the server has closed it; what is sent every second keeps it busy meanwhile. */
  const closed = (first: string, then: string): Promise<void> =>
    new Promise((resolve) => {
      const socket = connect({ host: '127.0.0.1', port: service.port })
      if (first !== '') socket.write(first)
      const sending = setInterval(() => then !== '' && socket.write(then), 1_000)
      socket.on('error', () => undefined)
      socket.resume().once('close', () => {
        clearInterval(sending)
        resolve()
      })
    })
  const line = 'POST /api/v1/invocations HTTP/1.1\r\nHost: localhost\r\n'

  test.concurrent.each([
    ['says nothing', '', ''],
    ['never ends its headers', line, 'x'],
    [
      'never ends its body',
      `${line}X-API-Key: {key}\r\nContent-Type: application/json\r\n` +
        `Idempotency-Key: ${randomUUID()}\r\nContent-Length: 400\r\n\r\n{`,
      ' ',
    ],
  ])('and %s is closed', async (_, first, then) => {
    await closed(first.replace('{key}', service.credentials.api_key), then)
  })
})
