import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { request as openRequest } from 'node:http'
import { connect } from 'node:net'
import { deflateSync, gzipSync } from 'node:zlib'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { AccessLog } from '../../../../internal/http/access-log.js'
import { Shares } from '../../../../internal/http/shares.js'
import { intakeRoom } from '../../../../internal/ingest/intake/intake-requests.js'
import type { IntakeRoute } from '../../../../internal/ingest/intake/intake-route.js'
import { startIntake } from '../../../../internal/ingest/intake/listener.js'
import { PacedBytes } from '../../../../internal/ingest/intake/paced-bytes.js'
import { UNNAMED_SENDER } from '../../../../internal/ingest/received/sender.js'
import { Tally } from '../../../../internal/ingest/received/tally.js'
import { decodeGroup } from '../../../../internal/invocations/invocation-group.js'
import { createLog } from '../../../../internal/telemetry/log.js'
import { BESIDE_API } from '../../../support/beside-api.js'
import {
  type IntakeGateway,
  type IntakeGatewayOptions,
  postIntake,
  startIntakeGateway,
} from '../../../support/intake-gateway.js'
import { validEvent } from '../../../support/invocations.js'
import { TENANT } from '../../../support/scope-keys.js'
import { CANARY, litellmPayload } from '../adapters/litellm-payload.js'

let running: IntakeGateway[] = []

afterEach(async () => {
  await Promise.all(running.map((gateway) => gateway.stop()))
  running = []
})

async function start(options: IntakeGatewayOptions = {}): Promise<IntakeGateway> {
  const gateway = await startIntakeGateway(options)
  running.push(gateway)
  return gateway
}

const batch = (count: number) =>
  Array.from({ length: count }, (_, i) => litellmPayload({ litellm_call_id: `call-${i}`, trace_id: null }))

/** Sends raw bytes on a connection of its own. @returns all that comes back until it ends */
async function raw(gateway: IntakeGateway, ...parts: readonly (string | Buffer)[]): Promise<string> {
  const socket = connect(gateway.port, '127.0.0.1')
  for (const part of parts) socket.write(part)
  let text = ''
  socket.on('data', (chunk) => {
    text += chunk.toString('latin1')
  })
  socket.on('error', () => undefined)
  await new Promise((resolve) => {
    socket.once('close', resolve)
  })
  return text
}

test('the time of a request includes what it and its answer wait for their turns', async () => {
  let nowMs = Date.now()
  const gateway = await start({ clock: () => nowMs })
  const noted = vi.spyOn(AccessLog.prototype, 'note')
  const paced = vi.spyOn(PacedBytes.prototype, 'of').mockReturnValue((_, go) => {
    nowMs += 3_000
    go()
  })

  await postIntake(gateway, '/intake/litellm', batch(1))
  paced.mockRestore()

  expect(noted).toHaveBeenCalledWith(expect.objectContaining({ status: 200, duration_ms: 6_000 }))
})

describe('a batch', () => {
  test('is admitted once, however often it is sent', async () => {
    const gateway = await start()

    const first = await postIntake(gateway, '/intake/litellm', batch(30))
    const others = []
    for (let i = 0; i < 4; i++) others.push((await postIntake(gateway, '/intake/litellm', batch(30))).json)

    expect(first).toMatchObject({ status: 200, json: { received: 30, accepted: 30, duplicates: 0, rejected: 0 } })
    expect(others).toEqual(Array(4).fill(expect.objectContaining({ accepted: 0, duplicates: 30 })))
    expect(new Set(gateway.events().map(({ event_id }) => event_id)).size).toBe(30)
    expect(gateway.events()).toHaveLength(30)
    expect(JSON.stringify(gateway.events())).not.toContain(CANARY)
  })

  test('of which some are bad costs only those, and shows none of their content', async () => {
    const gateway = await start()
    const lines = [
      JSON.stringify(litellmPayload({ litellm_call_id: 'good' })),
      `{"id":"cut","messages":"${CANARY}`,
      JSON.stringify(litellmPayload({ litellm_call_id: 'old', startTime: 1 })),
      JSON.stringify(litellmPayload({ call_type: 'aget_responses' })),
      JSON.stringify([CANARY]),
      JSON.stringify(litellmPayload({ id: null, litellm_call_id: null })),
    ]

    const { status, json } = await postIntake(gateway, '/intake/litellm', lines.join('\n'))

    expect(status).toBe(200)
    expect(json).toMatchObject({
      received: 6,
      accepted: 1,
      skipped: { repeated_call_type: 1 },
      rejected: 4,
      rejections: [
        { index: 1, errors: [{ pointer: '' }] },
        { index: 2, errors: [{ pointer: '/ingestion_timestamp' }] },
        { index: 4, errors: [{ pointer: '' }] },
        { index: 5, errors: [{ pointer: '/id' }] },
      ],
    })
    expect(JSON.stringify(json)).not.toContain(CANARY)
    expect(gateway.events()).toHaveLength(1)
  })

  test('says of each event whether its cost counts', async () => {
    const costly = { estimated_cost_usd: '0.01' }
    const sender = new Tally(UNNAMED_SENDER)
    const events = [0, 1, 2].map((place) => ({
      place,
      sender,
      event: validEvent({ event_id: randomUUID(), ingestion_timestamp: new Date().toISOString(), ...costly }),
      ...(place === 1 && { trustsCost: false as const }),
    }))
    const route: IntakeRoute = {
      methods: ['POST'],
      intake: 'otlp',
      path: '/intake/litellm',
      read: () => ({
        kind: 'events',
        events: [...events],
        senders: [sender],
        answer: () => ({ status: 200, headers: {}, body: '{}' }),
      }),
      writeProblem: () => ({ status: 500, headers: {}, body: '' }),
    }
    const gateway = await start({ routes: [route] })

    expect(await postIntake(gateway, '/intake/litellm', [])).toMatchObject({ status: 200 })
    const taken = gateway.stored.flatMap((message) => decodeGroup(message, 1))
    const costs = events.map(({ event }) => taken.find((each) => each.event.event_id === event.event_id))
    expect(costs.map((each) => each?.isCostUntrusted === true)).toEqual([false, true, false])
  })

  test.each([
    ['an array', JSON.stringify(batch(2)), 2],
    [
      'lines, called application/json',
      batch(3)
        .map((one) => JSON.stringify(one))
        .join('\r\n'),
      3,
    ],
    ['a single object', JSON.stringify(batch(1)[0]), 1],
    ['a single object on many lines', JSON.stringify(batch(1)[0], null, 2), 1],
    ['nothing', '', 0],
    ['an empty array', '[]', 0],
  ])('may be %s', async (_, body, accepted) => {
    const gateway = await start()

    expect(await postIntake(gateway, '/intake/litellm', body)).toMatchObject({
      status: 200,
      json: { received: accepted, accepted },
    })
  })

  test('is answered once the log holds it, and not before', async () => {
    const gateway = await start({ isLogHeld: true })
    let isAnswered = false

    const answer = postIntake(gateway, '/intake/litellm', batch(1)).then((posted) => {
      isAnswered = true
      return posted
    })
    while (gateway.admission.groups.eventsAvailable === 50_000) await new Promise(setImmediate)
    expect(isAnswered).toBe(false)
    gateway.release()

    expect((await answer).status).toBe(200)
  })
})

describe('the body', () => {
  const whole = JSON.stringify(batch(5))

  test('costs the last payload if it ends too early', async () => {
    const gateway = await start()
    const posted = await postIntake(gateway, '/intake/litellm', whole.slice(0, -10))
    expect(posted).toMatchObject({ status: 200, json: { received: 5, accepted: 4, rejected: 1 } })
  })

  test.each(['application/jsonl', 'application/x-ndjson', 'application/ndjson', 'application/cloudevents-batch+json'])(
    'may be called %s',
    async (type) => {
      const gateway = await start()
      const posted = await postIntake(gateway, '/intake/litellm', whole, { 'content-type': type })
      expect(posted).toMatchObject({ status: 200, json: { accepted: 5 } })
    },
  )

  test('of 32 calls with 27 MB of content is taken', async () => {
    const gateway = await start()
    const content = `${CANARY} `.repeat(60_000)
    const calls = batch(32).map((call) => ({ ...call, messages: [{ role: 'user', content }] }))
    expect(JSON.stringify(calls).length).toBeGreaterThan(26_700_000)

    const posted = await postIntake(gateway, '/intake/litellm', calls)

    expect(posted).toMatchObject({ status: 200, json: { accepted: 32, rejected: 0 } })
  })

  test.each([
    ['gzip', gzipSync],
    ['x-gzip', gzipSync],
    ['deflate', deflateSync],
  ])('may be %s', async (coding, pack) => {
    const gateway = await start()
    const posted = await postIntake(gateway, '/intake/litellm', pack(whole), { 'content-encoding': coding })
    expect(posted.json).toMatchObject({ accepted: 5 })
  })

  test('of another coding is refused with those that are read', async () => {
    const gateway = await start()
    const posted = await postIntake(gateway, '/intake/litellm', whole, { 'content-encoding': 'br' })
    expect([posted.status, posted.headers.get('accept-encoding')]).toEqual([415, 'gzip, deflate, zstd'])
  })

  test('may be chunked', async () => {
    const gateway = await start()
    const request = openRequest(`${gateway.url}/intake/litellm`, {
      method: 'POST',
      headers: { 'x-api-key': gateway.plainKey, 'transfer-encoding': 'chunked' },
    })
    for (let at = 0; at < whole.length; at += 100) request.write(whole.slice(at, at + 100))
    request.end()
    const [response] = (await once(request, 'response')) as [import('node:http').IncomingMessage]
    response.resume()

    expect(response.statusCode).toBe(200)
    expect(gateway.events()).toHaveLength(5)
  })

  test.each([
    ['a bomb', gzipSync(Buffer.alloc(64 * 1024 * 1024, ' ')), { 'content-encoding': 'gzip' }, 413],
    ['no gzip', Buffer.from('no gzip, and long enough to be some'), { 'content-encoding': 'gzip' }, 400],
    ['half of a gzip', gzipSync(whole).subarray(0, 200), { 'content-encoding': 'gzip' }, 400],
    ['of another coding', Buffer.from(whole), { 'content-encoding': 'br' }, 415],
    ['too many payloads', Buffer.from(`[${'{},'.repeat(100_000)}{}]`), {}, 413],
    ['of another type', Buffer.from([0x81, 0xa2]), { 'content-type': 'application/msgpack' }, 415],
  ])('that is %s is refused', async (_, body, headers, status) => {
    const gateway = await start()

    const posted = await postIntake(gateway, '/intake/litellm', body, headers as Record<string, string>)

    expect(posted.status).toBe(status)
    expect(posted.headers.get('content-type')).toBe('application/problem+json')
    expect(posted.json).toMatchObject({ status, instance: '/intake/litellm', tenant_id: 'tnt_one' })
    expect(gateway.events()).toEqual([])
  })

  test('that is half of an array has the elements before the one that was cut', async () => {
    const gateway = await start()
    const posted = await postIntake(gateway, '/intake/litellm', whole.slice(0, -10))
    expect(posted.json).toMatchObject({ accepted: 4 })
    expect(gateway.events()).toHaveLength(4)
  })

  test('shows nothing of the body before, which was longer, and none of those that come beside it', async () => {
    const gateway = await start()
    const sizes = [400, 1, 90, 2, 300, 1, 40, 3]
    const payloads = (name: string, count: number) =>
      Array.from({ length: count }, (_, i) => litellmPayload({ litellm_call_id: `${name}-${i}`, trace_id: null }))
    const answers: number[] = []
    const send = async (name: string, count: number): Promise<void> => {
      const plain = Buffer.from(JSON.stringify(payloads(name, count)))
      const { json } = await (count % 2 === 0
        ? postIntake(gateway, '/intake/litellm', plain)
        : postIntake(gateway, '/intake/litellm', gzipSync(plain), { 'content-encoding': 'gzip' }))
      answers.push((json as { accepted: number }).accepted - count)
    }

    for (const [turn, count] of sizes.entries()) await send(`one-${turn}`, count)
    await Promise.all(sizes.map((count, turn) => send(`beside-${turn}`, count)))

    expect(answers).toEqual(Array(2 * sizes.length).fill(0))
    const total = 2 * sizes.reduce((sum, count) => sum + count, 0)
    expect(new Set(gateway.events().map(({ event_id }) => event_id)).size).toBe(total)
    expect(gateway.events()).toHaveLength(total)
  })

  test('of which too much is kept is refused before it is all here', async () => {
    const gateway = await start()
    const head =
      `POST /intake/litellm HTTP/1.1\r\nHost: a\r\nX-API-Key: ${gateway.plainKey}\r\n` +
      'Transfer-Encoding: chunked\r\n\r\n'
    const chunk = Buffer.from(`{"id":"${'x'.repeat(100_000)}","litellm_call_id":"${'y'.repeat(100_000)}"}\n`.repeat(5))
    const chunks = Array.from({ length: 40 }, () => [`${chunk.length.toString(16)}\r\n`, chunk, '\r\n']).flat()

    expect(await raw(gateway, head, ...chunks)).toMatch(/^HTTP\/1\.1 413 /)
  })

  test('that ends too early admits nothing', async () => {
    const gateway = await start()
    const socket = connect(gateway.port, '127.0.0.1')
    socket.write(
      `POST /intake/litellm HTTP/1.1\r\nHost: a\r\nX-API-Key: ${gateway.plainKey}\r\nContent-Length: 500\r\n\r\n[{"id`,
    )
    socket.end()
    await once(socket.resume(), 'close')

    expect((await postIntake(gateway, '/intake/litellm', batch(1))).json).toMatchObject({ accepted: 1 })
    expect(gateway.events()).toHaveLength(1)
  })
})

describe('credentials', () => {
  const asked = async (gateway: IntakeGateway, headers: Record<string, string>) => {
    const answer = await fetch(`${gateway.url}/intake/litellm`, { method: 'POST', body: '[]', headers })
    return [answer.status, answer.headers.get('www-authenticate')]
  }

  test('are an API key, a bearer, or the password of Basic', async () => {
    const gateway = await start()
    const { plainKey } = gateway
    const basic = (text: string) => ({ authorization: `Basic ${Buffer.from(text).toString('base64')}` })

    expect(await asked(gateway, { 'x-api-key': plainKey })).toEqual([200, null])
    expect(await asked(gateway, { authorization: `Bearer ${plainKey}` })).toEqual([200, null])
    expect(await asked(gateway, basic(`anybody:${plainKey}`))).toEqual([200, null])
    expect(await asked(gateway, basic(`${plainKey}:`))).toEqual([401, expect.stringContaining('Bearer')])
    expect(await asked(gateway, {})).toEqual([401, expect.stringContaining('Bearer')])
    const otherKey = `${plainKey.slice(0, -1)}${plainKey.endsWith('x') ? 'y' : 'x'}`
    expect(await asked(gateway, { 'x-api-key': otherKey })).toEqual([401, expect.anything()])
  })

  test('that are repeated are refused: two hops might each use another', async () => {
    const gateway = await start()
    const head = `POST /intake/litellm HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Length: 2\r\n`

    expect(await raw(gateway, `${head}X-API-Key: a\r\nX-API-Key: ${gateway.plainKey}\r\n\r\n[]`)).toMatch(/ 400 /)
  })

  test('of a gateway are believed on who called', async () => {
    const gateway = await start()
    const [claimed, known] = batch(2)

    await postIntake(gateway, '/intake/litellm', [claimed])
    await postIntake(gateway, '/intake/litellm', [known], { 'x-api-key': gateway.gatewayKey })

    expect(gateway.events().map((event) => event.attribution_confidence)).toEqual([0.7, undefined])
  })

  test('keep to their layers', async () => {
    const gateway = await start()
    const posted = await postIntake(gateway, '/intake/litellm', batch(1), { 'x-api-key': gateway.restrictedKey })
    expect(posted).toMatchObject({ status: 200, json: { accepted: 0, rejected: 1 } })
  })

  test('that cannot be checked for long are not trusted', async () => {
    const gateway = await start({ credentialsAwayMs: 16 * 60_000 })
    const posted = await postIntake(gateway, '/intake/litellm', batch(1))
    expect([posted.status, posted.headers.get('retry-after')]).toEqual([503, '1'])
  })
})

describe('limits', () => {
  test('count events, and are shown', async () => {
    const gateway = await start({ ingestPerSecond: 10 })

    const first = await postIntake(gateway, '/intake/litellm', batch(15))

    expect([first.status, first.headers.get('ratelimit-limit')]).toEqual([200, '20'])
    expect(Number(first.headers.get('ratelimit-remaining'))).toBeLessThan(15)
  })

  test('delay a batch above the burst and lose none of it: 503 with Retry-After, which senders repeat', async () => {
    const gateway = await start({ ingestPerSecond: 10 })

    const above = await postIntake(gateway, '/intake/litellm', batch(60))
    const next = await postIntake(gateway, '/intake/litellm', batch(1))

    expect(above).toMatchObject({ status: 200, json: { accepted: 60 } })
    expect(next).toMatchObject({ status: 503, json: { error_code: 'SERVICE_UNAVAILABLE' } })
    // 60 at 10/s, of which the burst of 20 was there.
    expect(Number(next.headers.get('retry-after'))).toBeGreaterThanOrEqual(4)
  })
})

test('while neither log nor spool takes events, the answer is 503, and a repeat is safe', async () => {
  const gateway = await start({ isLogAway: true })

  const posted = await postIntake(gateway, '/intake/litellm', batch(3))

  expect([posted.status, posted.headers.get('retry-after')]).toEqual([503, '1'])
  expect(posted.json).toMatchObject({ error_code: 'SERVICE_UNAVAILABLE' })
  // Nothing is remembered that is not stored.
  expect((await postIntake(gateway, '/intake/litellm', batch(3))).status).toBe(503)
})

test.each([
  ['GET', '/intake/litellm', 405],
  ['PUT', '/intake/litellm', 405],
  ['POST', '/intake/other', 404],
  ['POST', '//intake//litellm/', 200],
  ['GET', '/', 404],
])('%s %s is %i', async (method, path, status) => {
  const gateway = await start()
  const body = method === 'GET' ? null : '[]'
  const answer = await fetch(gateway.url + path, { method, body, headers: { 'x-api-key': gateway.plainKey } })

  expect(answer.status).toBe(status)
  expect(answer.headers.get('allow')).toBe(status === 405 ? 'POST' : null)
})

test('a failure of a route is a 500 without its words', async () => {
  const broken = {
    methods: ['POST'] as const,
    intake: 'broken',
    path: '/intake/broken',
    writeProblem: () => ({ status: 500, headers: {}, body: '{}' }),
    read: () => {
      throw new Error(CANARY)
    },
  }
  const gateway = await start({ routes: [broken] })

  expect(await postIntake(gateway, '/intake/broken', '[]')).toMatchObject({ status: 500, json: {} })
})

test('of many requests at once few are read in one turn of the event loop', async () => {
  const gateway = await start()
  const body = JSON.stringify(batch(1))
  const head = `POST /intake/litellm HTTP/1.1\r\nHost: a\r\nX-API-Key: ${gateway.plainKey}\r\nContent-Type: application/json`
  const sockets = Array.from({ length: 200 }, () => connect(gateway.port, '127.0.0.1'))
  await Promise.all(sockets.map((socket) => once(socket, 'connect')))
  const held = vi.spyOn(Shares.prototype, 'hold')
  const begun = () => held.mock.calls.filter(([amount]) => amount === 1).length
  for (const socket of sockets) socket.write(`${head}\r\nContent-Length: ${body.length}\r\n\r\n${body}`)

  let most = 0
  for (let before = 0; before < 200; ) {
    await new Promise(setImmediate)
    most = Math.max(most, begun() - before)
    before = begun()
  }
  held.mockRestore()
  for (const socket of sockets) socket.destroy()

  // Two lots: between two looks there may be one before and one after the turn's own.
  expect(most).toBeLessThanOrEqual(32)
})

test('a port that is taken leaves the intake off', async () => {
  const gateway = await start()
  const settings = { ...BESIDE_API, port: gateway.port }
  const other = await startIntake(settings, [], {
    authenticator: { authenticate: () => expect.unreachable(), forget: () => undefined },
    credentialsAwayMs: () => 0,
    clientAddressOf: (peer) => peer,
    room: intakeRoom(),
    admission: gateway.admission,
    trustedFieldsOf: () => [],
    declaredTagsOf: () => new Set(),
    errorDocsUrl: '',
    log: createLog('test', 'silent'),
  })
  await other.drain()

  expect((await postIntake(gateway, '/intake/litellm', batch(1))).status).toBe(200)
})

describe('what is received', () => {
  const countsOf = (gateway: IntakeGateway) => [...gateway.received.of(TENANT).all()]

  test('is counted once, by sender and reason, with names of fields that nobody reads', async () => {
    const gateway = await start()
    const payloads = [
      litellmPayload({ litellm_call_id: 'good' }),
      litellmPayload({ litellm_call_id: 'good' }),
      litellmPayload({ litellm_call_id: 'old', startTime: 1 }),
      litellmPayload({ call_type: 'aget_responses' }),
      litellmPayload({ id: null, litellm_call_id: null, thinking_tokens: 7, content_of_tokens: CANARY }),
      [CANARY],
    ]

    await postIntake(gateway, '/intake/litellm', payloads, { 'user-agent': 'litellm/1.108.7' })

    const [{ source, counts } = expect.fail('nothing'), ...others] = countsOf(gateway)
    expect(others).toEqual([])
    expect(source).toMatchObject({ intake: 'litellm', name: 'litellm', version: '1.108.7' })
    expect(counts).toMatchObject({ received: payloads.length, accepted: 1, duplicates: 1 })
    expect([...counts.passedOver.entries()]).toMatchObject([['repeated_call_type', { count: 1 }]])
    expect([...counts.rejected.entries()].map(([reason, { count }]) => [reason, count])).toEqual([
      ['invalid_id', 1],
      ['malformed', 1],
      ['invalid_ingestion_timestamp', 1],
    ])
    expect([...counts.fieldNames]).toContain('thinking_tokens')
  })

  test('and refused whole is counted as a request; what is repeated is counted once', async () => {
    const gateway = await start({ commits: [{ kind: 'unavailable', detail: 'away' }] })
    const statuses = []
    for (let i = 0; i < 2; i++) statuses.push((await postIntake(gateway, '/intake/litellm', batch(3))).status)
    const noGzip = Buffer.from('no gzip, and long enough to be some')
    statuses.push((await postIntake(gateway, '/intake/kong', noGzip, { 'content-encoding': 'gzip' })).status)

    expect(statuses).toEqual([503, 200, 400])
    expect(countsOf(gateway).map(({ source, counts }) => [source.intake, counts.received])).toEqual([
      ['litellm', 0],
      ['litellm', 3],
      ['kong', 0],
    ])
    expect(countsOf(gateway).map(({ counts }) => [...counts.refusedRequests.entries()].map(([code]) => code))).toEqual([
      ['service_unavailable'],
      [],
      ['malformed_request'],
    ])
  })
})

test('a client that speaks HTTP/2, as gRPC does, is told what to change', async () => {
  const gateway = await start()

  const answer = await raw(gateway, 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n')

  // SETTINGS, then a GOAWAY whose text clients log.
  expect(answer.slice(0, 9)).toBe('\0\0\0\x04\0\0\0\0\0')
  expect(answer.charCodeAt(12)).toBe(7)
  expect(answer).toMatch(/OTEL_EXPORTER_OTLP_PROTOCOL=http\/protobuf.*--intake-grpc-port/)
})
