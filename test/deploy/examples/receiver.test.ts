import { spawnSync } from 'node:child_process'
import { createHmac, randomBytes } from 'node:crypto'
import { cpSync, mkdtempSync, symlinkSync, writeFileSync } from 'node:fs'
import { createServer, request } from 'node:https'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createReceiver } from '../../../deploy/examples/receiver/receiver.mjs'
import { isSigned, TOLERANCE_SECONDS } from '../../../deploy/examples/receiver/verify.mjs'
import { signaturesOf } from '../../../internal/webhooks/courier/signatures.js'
import { signingKeyOf } from '../../../internal/webhooks/endpoint.js'
import { type CourierWorld, launchCourierWorld, type StartedCourier } from '../../support/courier.js'
import { launch } from '../../support/processes.js'
import { RECEIVER_CERTIFICATE } from '../../support/receiver.js'

const PYTHON = fileURLToPath(new URL('../../../deploy/examples/receiver/verify.py', import.meta.url))
/** Debian's, where there is one. */
const python = spawnSync('/usr/bin/python3', ['--version']).status === 0 ? '/usr/bin/python3' : 'python3'
const isSignedInPython = (body: Uint8Array, header: string, secrets: readonly string[]): boolean => {
  const { status, stderr } = spawnSync(python, [PYTHON, header, ...secrets], { input: body })
  if (status !== 0 && status !== 1) throw new Error(String(stderr))
  return status === 0
}

const secretOf = (): string => `whsec_${randomBytes(32).toString('base64')}`
const sign = (body: Uint8Array, secrets: readonly string[], atMs = Date.now()): string =>
  signaturesOf(
    secrets.map((secret) => signingKeyOf(Buffer.from(secret))),
    'evt_one',
    body,
    atMs,
  )['service-signature']
const BODY = Buffer.from('{"id":"evt_one","data":{"ü":1}}')

describe.each([
  ['in JavaScript', isSigned],
  ['in Python', isSignedInPython],
] as const)('the verification %s', (_, isSignedBy) => {
  const [old, next] = [secretOf(), secretOf()]

  test('the example receiver accepts our signatures under one secret or either of two', () => {
    expect(isSignedBy(BODY, sign(BODY, [old]), [old])).toBe(true)
    for (const known of [[old], [next], [old, next], [next, old]]) {
      expect(isSignedBy(BODY, sign(BODY, [next, old]), known)).toBe(true)
    }
    expect(isSignedBy(BODY, sign(BODY, [next]), [old, next])).toBe(true)
  })

  test('the example receiver refuses another body, secret or time, and malformed signatures', () => {
    const header = sign(BODY, [old])
    const late = Date.now() - (TOLERANCE_SECONDS + 5) * 1_000
    const plain = createHmac('sha256', old).update(BODY).digest('hex')

    for (const [body, given, secrets] of [
      [Buffer.concat([BODY, Buffer.from(' ')]), header, [old]],
      [BODY, header, [next]],
      [BODY, header, []],
      [BODY, sign(BODY, [old], late), [old]],
      [BODY, sign(BODY, [old], Date.now() + 400_000), [old]],
      [BODY, header.replace('v1=', 'v2='), [old]],
      [BODY, header.replace(/t=\d/, 't=9'), [old]],
      [BODY, `${header},t=1`, [old]],
      [BODY, header.toUpperCase(), [old]],
      [BODY, `t=${Math.floor(Date.now() / 1_000)},v1=${plain}`, [old]],
      [BODY, header.slice(0, -2), [old]],
      [BODY, 't=,v1=', [old]],
      [BODY, 'é=1,v1=é', [old]],
      [BODY, '', [old]],
    ] as const) {
      expect(isSignedBy(body, given, secrets)).toBe(false)
    }
  })
})

test('the example receiver starts from a folder with a space and through a link', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'a receiver #1 '))
  cpSync(fileURLToPath(new URL('../../../deploy/examples/receiver/', import.meta.url)), folder, { recursive: true })
  const link = join(folder, 'started.mjs')
  symlinkSync(join(folder, 'receiver.mjs'), link)
  writeFileSync(join(folder, 'cert.pem'), RECEIVER_CERTIFICATE.cert)
  writeFileSync(join(folder, 'key.pem'), RECEIVER_CERTIFICATE.key)

  for (const script of [join(folder, 'receiver.mjs'), link]) {
    const receiver = launch(script, { cwd: folder, env: { PORT: '0', WEBHOOK_SECRETS: secretOf() } })
    expect(await receiver.line(/^listening \d+$/)).toBeDefined()
    await receiver.kill('SIGTERM')
  }
})

test('the example receivers accept any body that we sign and refuse altered bytes', () => {
  const secret = secretOf()

  fc.assert(
    fc.property(fc.uint8Array(), fc.uint8Array(), (body, other) => {
      const header = sign(body, [secret])
      expect(isSigned(body, header, [secret])).toBe(true)
      expect(isSigned(other, header, [secret])).toBe(Buffer.compare(body, other) === 0)
    }),
  )
})

describe('the receiver', () => {
  /** A receiver at work, and what it has taken. */
  async function start(seen?: Set<string>) {
    const secret = secretOf()
    const taken: string[] = []
    const take = (event: { readonly id: string }) => void taken.push(event.id)
    const server = createServer(
      RECEIVER_CERTIFICATE,
      createReceiver({ secrets: () => [secret], take, ...(seen && { seen }) }),
    )
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const { port } = server.address() as { port: number }
    const deliver = (event: object): Promise<number | undefined> =>
      new Promise((resolve, reject) => {
        const body = Buffer.from(JSON.stringify(event))
        const headers = { 'service-signature': sign(body, [secret]) }
        request(
          { port, method: 'POST', ca: RECEIVER_CERTIFICATE.cert, servername: 'hooks.example.com', headers },
          (response) => {
            response.resume().on('end', () => resolve(response.statusCode))
          },
        )
          .on('error', reject)
          .end(body)
      })
    return { taken, deliver, stop: () => server.close() }
  }
  const event = { id: 'evt_one', type: 'export.failed', data: {} }

  test('the example receiver processes an event once over retries and replays, also if an answer is lost', async () => {
    const { taken, deliver, stop } = await start()
    for (const sent of [event, event, { ...event, replayed: true }, { ...event, replayed: true }]) {
      expect(await deliver(sent)).toBe(204)
    }

    expect(taken).toEqual(['evt_one'])
    stop()
  })

  test('the example receiver processes a replay once when it lost the event or forgot its id', async () => {
    const seen = new Set<string>()
    const { taken, deliver, stop } = await start(seen)
    const replayed = { ...event, replayed: true }
    for (const sent of [replayed, replayed]) await deliver(sent)
    expect(taken).toEqual(['evt_one'])

    seen.delete('evt_one')
    for (const sent of [replayed, replayed]) await deliver(sent)

    expect(taken).toEqual(['evt_one', 'evt_one'])
    stop()
  })

  let world: CourierWorld
  let courier: StartedCourier
  beforeAll(async () => {
    world = await launchCourierWorld()
    courier = await world.courier()
  })
  afterAll(() => world.close())

  test('the example receiver processes each event of a courier once and refuses unsigned requests', async () => {
    const secrets: string[] = []
    const taken: { readonly id: string }[] = []
    const server = createServer(
      RECEIVER_CERTIFICATE,
      createReceiver({ secrets: () => secrets, take: (event) => taken.push(event) }),
    )
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const { port } = server.address() as { port: number }
    const { id, secret } = await world.endpoint(`https://hooks.example.com:${port}/`)

    await world.publishEvents(3)
    const refused = await courier.logged(3, (row) => row.endpointId === id && row.responseStatus === 401)
    secrets.push(secret)
    await courier.logged(3, (row) => row.endpointId === id && row.outcome === 'acknowledged')

    expect(refused.length).toBeGreaterThanOrEqual(3)
    expect(taken).toHaveLength(3)
    expect(new Set(taken.map((event) => event.id)).size).toBe(3)
    server.closeAllConnections()
    server.close()
  })
})
