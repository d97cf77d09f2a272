import { once } from 'node:events'
import { type ClientHttp2Session, connect as connectHttp2, constants } from 'node:http2'
import { connect } from 'node:net'
import { Readable } from 'node:stream'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { deflateSync, gzipSync } from 'node:zlib'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { Shares } from '../../../../internal/http/shares.js'
import { HEALTH_CHECK } from '../../../../internal/ingest/grpc/health.js'
import { framed } from '../../../../internal/ingest/grpc/unary-message.js'
import { problem } from '../../../../internal/problems/problem-catalogue.js'
import { callGrpc, connectGrpc, EXPORT, type GrpcCall } from '../../../support/grpc.js'
import { type IntakeGateway, type IntakeGatewayOptions, startIntakeGateway } from '../../../support/intake-gateway.js'
import { asProtobuf, decodeOtlp, encodeOtlp, logsJson, tracesJson } from '../../../support/otlp.js'
import { TENANT } from '../../../support/scope-keys.js'

let gateway: IntakeGateway
const sessions: ClientHttp2Session[] = []

afterEach(async () => {
  // Outside of an event of theirs, within which Node crashes.
  await nextTurn()
  for (const session of sessions.splice(0)) session.destroy()
  await gateway.stop()
})

async function start(options: IntakeGatewayOptions = {}) {
  gateway = await startIntakeGateway({ hasGrpc: true, ...options })
  return connected()
}
function connected(): ClientHttp2Session {
  const session = connectGrpc(gateway.grpcPort)
  session.on('error', () => undefined)
  sessions.push(session)
  return session
}
const withKey = (metadata: Record<string, string> = {}): GrpcCall => ({
  metadata: { 'x-api-key': gateway.plainKey, ...metadata },
})

const CHAT = {
  'gen_ai.operation.name': 'chat',
  'gen_ai.provider.name': 'openai',
  'gen_ai.request.model': 'gpt-4o',
  'gen_ai.usage.input_tokens': 12,
  'gen_ai.usage.output_tokens': 3,
}
const idOf = (number: number): string => number.toString(16).padStart(16, '0')
const traces = (count: number, scope = 'test'): Buffer => {
  const startMs = Date.now() - 1_000
  const spans = Array.from({ length: count }, (_, i) => ({ spanId: idOf(i + 1), startMs, attributes: CHAT }))
  return asProtobuf('ExportTraceServiceRequest', tracesJson(spans, { scope }))
}

describe('a call of Export', () => {
  test('stores its spans once, however often it is made', async () => {
    const session = await start()
    const message = traces(20)

    for (let i = 0; i < 3; i++) {
      expect(await callGrpc(session, EXPORT.traces, message, withKey())).toMatchObject({
        httpStatus: 200,
        code: 0,
        body: Buffer.alloc(0),
      })
    }
    expect(gateway.events()).toHaveLength(20)
  })

  test.each([
    ['gzip', gzipSync],
    ['deflate', deflateSync],
  ])('may be compressed by %s', async (coding, pack) => {
    const session = await start()
    const call = { ...withKey({ 'grpc-encoding': coding }), isCompressed: true }

    expect(await callGrpc(session, EXPORT.traces, pack(traces(3)), call)).toMatchObject({ code: 0 })
    expect(gateway.events()).toHaveLength(3)
  })

  test('of a message that is not compressed, whatever encoding its connection has', async () => {
    const session = await start()

    await callGrpc(session, EXPORT.traces, traces(3), withKey({ 'grpc-encoding': 'gzip' }))

    expect(gateway.events()).toHaveLength(3)
  })

  test('says what it did not take', async () => {
    const session = await start()
    const withoutModel = { spanId: idOf(1), attributes: { 'gen_ai.operation.name': 'chat' } }
    const message = asProtobuf('ExportTraceServiceRequest', tracesJson([withoutModel]))

    const { code, body } = await callGrpc(session, EXPORT.traces, message, withKey())

    expect(code).toBe(0)
    expect(decodeOtlp('ExportTraceServiceResponse', body)).toMatchObject({ partialSuccess: { rejectedSpans: '1' } })
  })

  test('of logs reads events of calls, and of metrics says that they are not kept', async () => {
    const session = await start()
    const attributes = { ...CHAT, 'event.name': 'gen_ai.client.inference.operation.details' }
    const logs = asProtobuf('ExportLogsServiceRequest', logsJson([{ atMs: Date.now(), attributes }]))

    /** `resource_metrics` of an empty resource. */
    const metrics = Buffer.from([0x0a, 0x02, 0x0a, 0x00])
    const ofLogs = await callGrpc(session, EXPORT.logs, logs, withKey())
    const ofMetrics = await callGrpc(session, EXPORT.metrics, metrics, withKey({ 'user-agent': 'OTel/1' }))

    expect([ofLogs.code, ofMetrics.code]).toEqual([0, 0])
    expect(gateway.events()).toHaveLength(1)
    expect(decodeOtlp('ExportMetricsServiceResponse', ofMetrics.body)).toEqual({
      partialSuccess: { errorMessage: expect.stringContaining('not kept') },
    })
    const counted = [...gateway.received.of(TENANT).all()].map(({ counts }) => [...counts.passedOver.entries()])
    expect(counted).toContainEqual([['metrics_request', expect.objectContaining({ count: 1 })]])
  })
})

test.each(['constructor', '__proto__', 'toString'])('metadata may be named %s', async (name) => {
  const session = await start()

  expect(
    await callGrpc(session, EXPORT.traces, traces(1), withKey({ [name]: 'x', hasownproperty: 'y' })),
  ).toMatchObject({
    code: 0,
  })
})

test('a stream of another protocol ends with its answer, also where it sends no end', async () => {
  const session = await start()
  const stream = session.request({ ':method': 'POST', ':path': '/v1/traces', 'content-type': 'text/plain' })
  stream.resume()
  const [head] = await once(stream, 'response')
  await once(stream, 'close')

  expect(head[':status']).toBe(415)
})

describe('a refusal', () => {
  test('of the credential is final', async () => {
    const session = await start()
    const wrong = { metadata: { 'x-api-key': 'ak_live_wrong' } }
    const twice = { metadata: { 'x-api-key': gateway.plainKey, authorization: `Bearer ${gateway.plainKey}x` } }

    expect(await callGrpc(session, EXPORT.traces, traces(1), wrong)).toMatchObject({ code: 16, details: undefined })
    expect(await callGrpc(session, EXPORT.traces, traces(1), {})).toMatchObject({ code: 16 })
    expect((await callGrpc(session, EXPORT.traces, traces(1), twice)).code).not.toBe(0)
    expect(gateway.events()).toEqual([])
  })

  test('of the rate says when to try again', async () => {
    const session = await start({ ingestPerSecond: 10 })

    // The second one may owe what is above the burst; the third waits until it is paid.
    const answers = []
    for (let i = 0; i < 3; i++) answers.push(await callGrpc(session, EXPORT.traces, traces(15), withKey()))

    expect(answers.map(({ code }) => code)).toEqual([0, 0, 8])
    const last = answers[2]
    expect(last?.message).toMatch(/rate limit/i)
    const { code, message, details } = decodeOtlp('Status', last?.details ?? Buffer.alloc(0))
    expect({ code, message }).toEqual({ code: 8, message: last?.message })
    expect(details[0].typeUrl).toBe('type.googleapis.com/google.rpc.RetryInfo')
    expect(Number(decodeOtlp('RetryInfo', details[0].value).retryDelay.seconds)).toBeGreaterThan(0)
  })

  test('while nothing can be stored is temporary, too', async () => {
    const session = await start({ isLogAway: true })

    const { code, details } = await callGrpc(session, EXPORT.traces, traces(1), withKey())

    expect(code).toBe(14)
    expect(decodeOtlp('Status', details ?? Buffer.alloc(0)).details).toHaveLength(1)
  })

  test.each([
    ['of a broken message', { raw: framed(Buffer.from([0xff])) }, 3],
    ['of two messages', { raw: Buffer.concat([framed(Buffer.alloc(0)), framed(Buffer.alloc(0))]) }, 3],
    ['of half a message', { raw: framed(Buffer.alloc(9)).subarray(0, 9) }, 3],
    ['of none', { raw: Buffer.alloc(0) }, 3],
    ['of an encoding that is not known', { isCompressed: true, metadata: { 'grpc-encoding': 'snappy' } }, 12],
    ['of a message that is no gzip', { isCompressed: true, metadata: { 'grpc-encoding': 'gzip' } }, 3],
  ])('%s is final', async (_, call: GrpcCall, code) => {
    const session = await start()
    const metadata = { 'x-api-key': gateway.plainKey, ...call.metadata }

    expect(await callGrpc(session, EXPORT.traces, traces(1), { ...call, metadata })).toMatchObject({
      code,
      details: undefined,
    })
    expect(gateway.events()).toEqual([])
  })

  test('names another method, and another protocol', async () => {
    const session = await start()
    const other = await callGrpc(session, '/opentelemetry.proto.collector.trace.v1.TraceService/Import', traces(1))
    const stream = session.request({ ':method': 'POST', ':path': '/v1/traces', 'content-type': 'application/json' })
    const [head] = await once(stream.end('{}'), 'response')

    expect(other).toMatchObject({ code: 12, message: expect.stringContaining('No such method') })
    expect(head[':status']).toBe(415)
  })
})

describe('health', () => {
  const check = async (session: ClientHttp2Session, service = '') => {
    const request = service === '' ? Buffer.alloc(0) : encodeOtlp('HealthCheckRequest', { service })
    const { code, body } = await callGrpc(session, HEALTH_CHECK, request)
    return code === 0 ? decodeOtlp('HealthCheckResponse', body).status : `code ${code}`
  }

  test('is told without a credential, of this server and its services', async () => {
    const session = await start()

    expect(await check(session)).toBe(1)
    expect(await check(session, 'opentelemetry.proto.collector.trace.v1.TraceService')).toBe(1)
    expect(await check(session, 'other.Service')).toBe('code 5')
    expect(await callGrpc(session, HEALTH_CHECK, Buffer.from([0xff]))).toMatchObject({ code: 3 })
  })

  test('is bad while the gateway is not ready', async () => {
    const session = await start({ readiness: () => problem('SERVICE_UNAVAILABLE', 'draining') })

    expect(await check(session)).toBe(2)
  })
})

describe('limits', () => {
  test('let as much come on a connection as its calls may bring together', async () => {
    const session = await start()

    await callGrpc(session, EXPORT.traces, traces(1), withKey())

    const { initialWindowSize = 0, maxConcurrentStreams = 0 } = session.remoteSettings
    // What was sent is given back once it is half of the window.
    expect(session.state.remoteWindowSize).toBeGreaterThan((initialWindowSize * maxConcurrentStreams) / 2)
  })

  test('leave calls of others after many that never end', async () => {
    await start()
    const half = framed(Buffer.alloc(100)).subarray(0, 50)
    const held = Array.from({ length: 32 }, connected)
    const streams = held.flatMap((session) =>
      Array.from({ length: 32 }, () => {
        const head = { ':method': 'POST', ':path': EXPORT.traces, 'content-type': 'application/grpc' }
        const stream = session.request({ ...head, 'x-api-key': gateway.plainKey })
        stream.on('error', () => undefined)
        stream.write(half)
        return stream
      }),
    )

    const refused = await Promise.race(streams.map((stream) => once(stream, 'response')))
    expect(refused[0]).toMatchObject({ 'grpc-status': '8', 'grpc-status-details-bin': expect.anything() })
    await nextTurn()
    for (const session of held) session.destroy()

    const session = connected()
    let { code } = await callGrpc(session, EXPORT.traces, traces(1), withKey())
    while (code === 8) code = (await callGrpc(session, EXPORT.traces, traces(1), withKey())).code
    expect(code).toBe(0)
  })

  /** The most of what is counted in a turn of the event loop, until there are so many in all. */
  async function mostPerTurn(all: number, count: () => number): Promise<number> {
    let most = 0
    for (let before = 0; before < all; ) {
      await nextTurn()
      most = Math.max(most, count() - before)
      before = count()
    }
    return most
  }
  const HEAD = { ':method': 'POST', ':path': EXPORT.traces, 'content-type': 'application/grpc' }
  const begin = (session: ClientHttp2Session, count: number) =>
    Array.from({ length: count }, () => session.request(HEAD).on('error', () => undefined))
  // Two lots: between two looks there may be one before and one after the turn's own.
  const LOTS = 64

  test.each([
    ['begin', () => vi.spyOn(Shares.prototype, 'hold')],
    ['be read', () => vi.spyOn(Readable.prototype, 'pipe')],
  ])('let few calls %s in one turn of the event loop', async (_, spy) => {
    await start()
    const held = Array.from({ length: 12 }, connected)
    await Promise.all(held.map((session) => once(session, 'remoteSettings')))
    const counted = spy()
    for (const session of held) begin(session, 32)

    expect(await mostPerTurn(12 * 32, () => counted.mock.calls.length)).toBeLessThanOrEqual(LOTS)
    counted.mockRestore()
  })

  test('let few calls be refused in one turn of the event loop', async () => {
    await start()
    const held = Array.from({ length: 30 }, connected)
    await Promise.all(held.map((session) => once(session, 'remoteSettings')))
    let refused = 0
    for (const stream of held.flatMap((session) => begin(session, 32))) stream.once('response', () => refused++)

    expect(await mostPerTurn(400, () => refused)).toBeLessThanOrEqual(LOTS)
  })

  test('let few calls be answered in one turn of the event loop, which one message of the log may hold', async () => {
    await start({ isLogHeld: true })
    const held = Array.from({ length: 12 }, connected)
    let answered = 0
    for (const session of held) {
      for (let call = 0; call < 32; call++) {
        void callGrpc(session, EXPORT.traces, traces(1), withKey()).then(() => answered++)
      }
    }
    while (gateway.admission.groups.waiting < 12 * 32) await nextTurn()
    gateway.release()

    expect(await mostPerTurn(12 * 32, () => answered)).toBeLessThanOrEqual(LOTS)
  })

  test('leave room for another address, whatever one address has begun', async () => {
    const session = await start()
    const from = (localAddress: string): ClientHttp2Session => {
      const port = gateway.grpcPort
      const socket = connect({ port, host: '127.0.0.1', localAddress })
      const held = connectHttp2(`http://127.0.0.1:${port}`, { createConnection: () => socket })
      sessions.push(held)
      return held.on('error', () => undefined)
    }
    const head = { ':method': 'POST', ':path': EXPORT.traces, 'content-type': 'application/grpc' }
    const streams = Array.from({ length: 40 }, () => from('127.0.0.2')).flatMap((held) =>
      Array.from({ length: 30 }, () => held.request(head).on('error', () => undefined)),
    )
    await Promise.race(streams.map((stream) => once(stream, 'response')))

    expect(await callGrpc(session, EXPORT.traces, traces(1), withKey())).toMatchObject({ code: 0 })
  })
})

test('a call whose message stops is given up, and its place with it', async () => {
  const session = await start()
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
  const head = { ':method': 'POST', ':path': EXPORT.traces, 'content-type': 'application/grpc' }
  const stream = session.request({ ...head, 'x-api-key': gateway.plainKey })
  stream.on('error', () => undefined)
  stream.write(framed(traces(3)).subarray(0, 20))

  while (!stream.closed) {
    await nextTurn()
    vi.advanceTimersByTime(10_000)
  }
  vi.useRealTimers()

  expect(stream.rstCode).toBe(constants.NGHTTP2_CANCEL)
  expect(await callGrpc(session, EXPORT.traces, traces(3), withKey())).toMatchObject({ code: 0 })
})

test('what is under way is answered before the listener has drained', async () => {
  const session = await start({ isLogHeld: true })
  const answer = callGrpc(session, EXPORT.traces, traces(2), withKey())
  while (gateway.admission.groups.eventsAvailable === 50_000) await nextTurn()

  const stopped = gateway.stop()
  gateway.release()

  expect(await answer).toMatchObject({ code: 0 })
  await stopped
})
