import { randomUUID } from 'node:crypto'
import { gzipSync } from 'node:zlib'
import { pino } from 'pino'
import { afterEach, describe, expect, test } from 'vitest'
import { WAS_BULK } from '../../../internal/ingest/admission/admission.js'
import { decodeGroup, WAS_DUPLICATE } from '../../../internal/invocations/invocation-group.js'
import { BULK_BYTES_MAX, BULK_EVENTS_MAX } from '../../../internal/invocations/limits.js'
import { invocationsSubject } from '../../../streams/invocations.js'
import {
  type AdmissionGateway,
  type AdmissionGatewayOptions,
  startAdmissionGateway,
} from '../../support/admission-gateway.js'
import { type Posted, wireEvent } from '../../support/gateway.js'
import { TENANT } from '../../support/scope-keys.js'

let gateway: AdmissionGateway
const start = async (options?: AdmissionGatewayOptions): Promise<void> => {
  gateway = await startAdmissionGateway(options)
}
afterEach(() => gateway.stop())

const event = (fields?: Record<string, unknown>): string => JSON.stringify(wireEvent(fields))
const ndjson = { 'content-type': 'application/x-ndjson' }
const gzip = { 'content-encoding': 'gzip' }
const zstd = { 'content-encoding': 'zstd' }

/** A frame of one block that is not compressed: Node packs zstd from version 22 on. */
function zstdOf(text: string): Buffer {
  const header = Buffer.from([0x28, 0xb5, 0x2f, 0xfd, 0, 13 << 3, 0, 0, 0])
  header.writeUIntLE(text.length * 8 + 1, 6, 3)
  return Buffer.concat([header, Buffer.from(text)])
}
const verdictOf = ({ status, isReplay, text }: Posted): readonly unknown[] => [
  status,
  status === 202 ? isReplay : (JSON.parse(text) as { error_code: string }).error_code,
]
const CONFLICT = [422, 'IDEMPOTENCY_CONFLICT']

test.each([
  ['many lines, then one event', `${event()}\n${event()}\n`, ndjson, {}],
  ['one line, then one event', event(), ndjson, {}],
  ['one event, then one line', event(), {}, ndjson],
  ['an array, then a line', `[${event()}]`, {}, ndjson],
  ['gzip, then as it is', gzipSync(event()), gzip, {}],
  ['gzip of lines, then of one event', gzipSync(event()), { ...gzip, ...ndjson }, gzip],
  ['zstd, then as it is', zstdOf(event()), zstd, {}],
])('the same bytes under one key, to be read in another way, are another body: %s', async (_, body, first, second) => {
  await start()
  const key = randomUUID()

  const taken = await gateway.post(body, key, first)
  const other = await gateway.post(body, key, second)
  const again = await gateway.post(body, key, first)

  expect([verdictOf(taken), verdictOf(other), verdictOf(again)]).toEqual([[202, false], CONFLICT, [202, true]])
})

test('what unpacks a body takes no memory once it is unpacked: many that wait for the log leave room for a long one', async () => {
  await start({ isLogHeld: true })
  const waiting = Array.from({ length: 20 }, () => gateway.post(zstdOf(event()), randomUUID(), zstd))
  await Promise.race([...waiting, gateway.untilInFlight(20)])

  const long = gateway.post(`[${event()}${' '.repeat(8 * 1024 * 1024)}]`, randomUUID())
  await Promise.race([long, gateway.untilInFlight(21)])
  gateway.release()

  expect((await long).status).toBe(202)
  expect((await Promise.all(waiting)).map(({ status }) => status)).toEqual(Array(20).fill(202))
})

test('a coding that nobody takes is answered with those that are', async () => {
  await start()

  const { status, headers } = await gateway.post(event(), randomUUID(), { 'content-encoding': 'br' })

  expect([status, headers.get('accept-encoding')]).toEqual([415, 'gzip, deflate, zstd'])
})

test.each<[string, string, Record<string, string>, string]>([
  ['no event', '[]', {}, 'VALIDATION_FAILED'],
  ['half an array', '[{', {}, 'VALIDATION_FAILED'],
  ['too many lines', '{}\n'.repeat(BULK_EVENTS_MAX + 1), ndjson, 'PAYLOAD_TOO_LARGE'],
  ['no gzip', 'some text', gzip, 'MALFORMED_REQUEST'],
  ['no zstd', 'some text', zstd, 'MALFORMED_REQUEST'],
  ['a coding that nobody takes', event(), { 'content-encoding': 'br' }, 'UNSUPPORTED_MEDIA_TYPE'],
])('a used key with a bulk body that would be refused is a conflict: %s', async (_, body, headers, code) => {
  await start()
  const [bulk, unused] = [randomUUID(), randomUUID()]
  await gateway.post(`[${event()}]`, bulk)

  const answers = []
  for (const key of [bulk, unused, unused]) answers.push(await gateway.post(body, key, headers))
  const lookups = gateway.lookups()
  await gateway.post(event(), unused)

  expect(answers.map((answer) => verdictOf(answer)[1])).toEqual(['IDEMPOTENCY_CONFLICT', code, code])
  expect(gateway.lookups()).toBe(lookups)
})

test('a used key that only the index knows, with a bulk body that would be refused, is a conflict', async () => {
  await start()
  const key = randomUUID()
  await gateway.post(event(), key)

  expect(verdictOf(await gateway.post('[]', key))).toEqual(CONFLICT)
})

test.each([
  ['no event', 'text'],
  ['no object', '7'],
  ['an event without an id', event({ event_id: undefined })],
  ['an event whose id is no UUID', event({ event_id: '7' })],
])('a key that the read model says was admitted with a body that holds %s: 422', async (_, body) => {
  const key = randomUUID()
  await start({ recorded: [{ key, body, flags: WAS_BULK }] })

  const answers = [await gateway.post(body, key), await gateway.post(event(), randomUUID())]

  expect(answers.map(verdictOf)).toEqual([CONFLICT, [202, false]])
})

test('a conflict that only the read model knew is one still when that is unavailable', async () => {
  const [key, body] = [randomUUID(), event()]
  const recorded = [{ key, body, flags: 0 }]
  await start({ recorded })
  const first = await gateway.post(event(), key)

  recorded.length = 0
  const again = await gateway.post(event(), key)
  const same = await gateway.post(body, key)

  expect([first, again].map(verdictOf)).toEqual([CONFLICT, CONFLICT])
  expect([same.status, same.isReplay]).toEqual([202, true])
})

test.each([
  ['a bomb', gzipSync(Buffer.alloc(BULK_BYTES_MAX + 1, ' ')), gzip, 413],
  ['blanks', gzipSync(Buffer.alloc(BULK_BYTES_MAX, ' ')), { ...gzip, ...ndjson }, 422],
  ['no gzip', Buffer.from('some text that is not packed'), gzip, 400],
  ['half an array', Buffer.from('[{'), {}, 422],
  ['more than one event may have', Buffer.alloc(65 * 1024, ' '), {}, 422],
])('a body that cannot be taken is paid for before it is opened: %s', async (_, body, headers, status) => {
  await start({ ingestPerSecond: 0.5 })

  const first = await gateway.post(body, randomUUID(), headers)
  const second = await gateway.post(event(), randomUUID())

  expect([first.status, second.status]).toEqual([status, 429])
})

test('a bulk request costs as much as its events, and its replay as much as one', async () => {
  await start({ ingestPerSecond: 1 })
  const [key, pair, one] = [randomUUID(), `[${event()},${event()}]`, `[${event()}]`]

  const asMany = [await gateway.post(pair, key), await gateway.post(pair, key)]
  await gateway.stop()
  await start({ ingestPerSecond: 1 })
  const asOne = [await gateway.post(one, key), await gateway.post(one, key), await gateway.post(one, key)]

  expect(asMany.map(verdictOf)).toEqual([
    [202, false],
    [429, 'RATE_LIMITED'],
  ])
  expect(asOne.map(verdictOf)).toEqual([
    [202, false],
    [202, true],
    [429, 'RATE_LIMITED'],
  ])
})

test('of a bulk request that costs more than the budget holds, the rest is a debt: later, it is taken as well', async () => {
  await start({ ingestPerSecond: 1 })
  const body = `[${event()},${event()},${event()}]`

  const answers = [await gateway.post(body, randomUUID()), await gateway.post(body, undefined)]

  expect(answers.map(verdictOf)).toEqual([
    [202, false],
    [429, 'RATE_LIMITED'],
  ])
  expect(answers[1]?.headers.get('retry-after')).toBe('2')
})

test('events of a tenant with the lane go there, alone and in bulk, and are counted; repeats do not', async () => {
  const counted: string[] = []
  let isFlooding = false
  await start({
    lane: {
      partitionFor: (_, own) => (isFlooding ? 2 : own),
      count: (tenantId) => void counted.push(tenantId),
    },
  })
  const early = wireEvent()
  expect((await gateway.post(JSON.stringify(early), randomUUID())).status).toBe(202)
  isFlooding = true
  const repeat = await gateway.post(JSON.stringify(early), randomUUID())
  expect(repeat.text).toContain('"duplicate":true')
  expect((await gateway.post(JSON.stringify(wireEvent()), randomUUID())).status).toBe(202)
  expect((await gateway.post(JSON.stringify([wireEvent(), wireEvent()]), randomUUID())).status).toBe(202)

  const lane = invocationsSubject('l', 0)
  // The repeat is there for its key alone: its event was stored before.
  expect(gateway.subjects.slice(1)).toEqual([lane, lane, lane])
  expect(gateway.stored.slice(1).map((message) => decodeGroup(message, 1).map(({ key }) => key?.flags ?? 0))).toEqual([
    [WAS_DUPLICATE],
    [0],
    [WAS_BULK, 0],
  ])
  expect(counted).toHaveLength(5)
})

test('no request gets a 202 before the log holds its events', async () => {
  await start({ isLogHeld: true })
  const answered: number[] = []
  const posted = [event(), `[${event()},${event()}]`].map(async (body) => {
    answered.push((await gateway.post(body, randomUUID())).status)
  })
  await gateway.untilInFlight(2)

  // Another request is answered meanwhile: an early 202 would have arrived before it.
  const refused = await gateway.post('{', randomUUID())
  const answeredEarly = [...answered]
  gateway.release()
  await Promise.all(posted)

  expect([refused.status, answeredEarly]).toEqual([400, []])
  expect(answered).toEqual([202, 202])
  expect(gateway.stored.length).toBeGreaterThan(0)
})

test('a call from before the tenant’s retention is refused, alone and in a bulk request', async () => {
  await start()
  const old = { event_id: randomUUID(), ingestion_timestamp: '2019-12-31T23:59:59Z' }

  const alone = await gateway.post(event(old), randomUUID())
  const bulk = await gateway.post(`${event(old)}\n${event({ event_id: randomUUID() })}`, randomUUID(), ndjson)

  expect([alone.status, JSON.parse(alone.text).errors]).toEqual([
    422,
    [{ pointer: '/ingestion_timestamp', detail: 'must not lie before the retention of records' }],
  ])
  expect(JSON.parse(bulk.text)).toMatchObject({ accepted: 1, rejected: 1 })
})

test('a bulk stored in part is a 503, logged with its reason; its repeat stores each event once', async () => {
  const lines: Record<string, unknown>[] = []
  const log = pino({ level: 'warn' }, { write: (line: string) => void lines.push(JSON.parse(line)) })
  const refused = { kind: 'unavailable', detail: 'The log did not confirm in time.' } as const
  await start({ commits: [{ kind: 'stored' }, refused, refused], log })
  // Of both partitions, so that they are two messages.
  const ids = Array.from({ length: 40 }, () => randomUUID())
  const body = ids.map((event_id) => event({ event_id, attributed_service: 'search' })).join('\n')
  const key = randomUUID()
  const storedIds = () =>
    gateway.stored.flatMap((message) =>
      decodeGroup(message, 1)
        // A known event is stored again only to carry the request's key.
        .filter(({ key: carried }) => ((carried?.flags ?? 0) & WAS_DUPLICATE) === 0)
        .map(({ event: { event_id: id } }) => id),
    )

  const first = await gateway.post(body, key, ndjson)
  const kept = storedIds().length
  const second = await gateway.post(body, key, ndjson)
  const known = storedIds().length
  const third = await gateway.post(body, randomUUID(), ndjson)

  expect(verdictOf(first)).toEqual([503, 'SERVICE_UNAVAILABLE'])
  expect(kept).toBeGreaterThan(0)
  expect(kept).toBeLessThan(ids.length)
  const reasons = lines.filter(({ reason }) => reason !== undefined)
  expect(reasons).toHaveLength(2)
  expect(reasons[0]).toMatchObject({ events: ids.length, stored: kept, reason: refused.detail })
  const failed = {
    msg: 'request failed',
    route: 'POST /api/v1/invocations',
    status: 503,
    error_code: 'SERVICE_UNAVAILABLE',
  }
  expect(lines.filter((line) => !reasons.includes(line))).toMatchObject([failed, failed])
  expect(JSON.stringify(lines)).not.toContain('search')
  expect(verdictOf(second)).toEqual([503, 'SERVICE_UNAVAILABLE'])
  expect(verdictOf(third)).toEqual([202, false])
  expect(JSON.parse(third.text)).toMatchObject({ accepted: ids.length, rejected: 0 })
  expect(third.text.split('"duplicate":true').length - 1).toBe(known)
  expect(storedIds().sort()).toEqual(ids.sort())
})

test('each event that is received is counted once: accepted, duplicate or refused with its reason', async () => {
  await start()
  const [id, key] = [randomUUID(), randomUUID()]
  await gateway.post(event({ event_id: id }), key)
  await gateway.post(event({ event_id: id }), key)
  await gateway.post(event({ event_id: id }), randomUUID())
  await gateway.post(event({ input_tokens: -1 }), randomUUID())
  const bulk = [event({ event_id: randomUUID() }), event({ event_id: id }), event({ provider: 7 }), '{'].join('\n')
  const bulkKey = randomUUID()
  await gateway.post(bulk, bulkKey, ndjson)
  await gateway.post(bulk, bulkKey, ndjson)
  await gateway.post(event(), '')

  const [{ source, counts } = expect.fail('nothing'), ...others] = gateway.received.of(TENANT).all()

  expect(others).toEqual([])
  expect(source).toMatchObject({ intake: '', name: '' })
  expect(counts).toMatchObject({ received: 12, accepted: 2, duplicates: 5 })
  const shown = (reasons: typeof counts.rejected) =>
    Object.fromEntries([...reasons.entries()].map(([reason, { count }]) => [reason, count]))
  expect(shown(counts.rejected)).toEqual({ invalid_input_tokens: 1, invalid_provider: 2, malformed: 2 })
  expect(shown(counts.refusedRequests)).toEqual({ idempotency_key_required: 1 })
})

describe('without an Idempotency-Key', () => {
  const resultsOf = ({ text }: Posted) => JSON.parse(text) as Record<'accepted' | 'rejected', number>
  const [one, two] = [event(), event()]

  test.each<[string, string | Buffer, Record<string, string>]>([
    ['an array', `[${one},${two}]`, {}],
    ['lines', `${one}\n${two}\n`, ndjson],
    ['lines of other media types', `${one}\n${two}`, { 'content-type': 'application/jsonl' }],
    ['lines under the media type of JSON', `${one}\n${two}\n`, {}],
    ['objects one behind the other', `${one}${two}`, {}],
    ['lines, packed, under the media type of JSON', gzipSync(`${one}\n${two}\n`), gzip],
    ['an array in zstd', zstdOf(`[${one},${two}]`), zstd],
    ['lines in zstd', zstdOf(`${one}\n${two}\n`), { ...zstd, ...ndjson }],
  ])('%s is taken, and its repeat recognised by the ids of its events', async (_, body, headers) => {
    await start()

    const answers = [await gateway.post(body, undefined, headers), await gateway.post(body, undefined, headers)]

    expect(answers.map(verdictOf)).toEqual([
      [202, false],
      [202, false],
    ])
    expect(answers.map(resultsOf)).toMatchObject([
      { accepted: 2, rejected: 0, results: [{ duplicate: false }, { duplicate: false }] },
      { accepted: 2, rejected: 0, results: [{ duplicate: true }, { duplicate: true }] },
    ])
    expect(gateway.records.size).toBe(0)
  })

  test('one line is taken, also under the media type of JSON', async () => {
    await start()

    const answers = [await gateway.post(`${one}\n`, undefined), await gateway.post(two, undefined, ndjson)]

    expect(answers.map(resultsOf)).toMatchObject([{ accepted: 1 }, { accepted: 1 }])
  })

  test.each<[string, string | Buffer, Record<string, string>]>([
    ['one event', one, {}],
    ['one event on several lines', JSON.stringify(JSON.parse(one), null, 2), {}],
    ['one event, packed', gzipSync(one), gzip],
    ['nothing', '', {}],
  ])('%s is refused', async (_, body, headers) => {
    await start({ ingestPerSecond: 0.5 })

    const answers = [await gateway.post(body, undefined, headers), await gateway.post(body, undefined, headers)]

    expect(answers.map(verdictOf)).toEqual([
      [400, 'IDEMPOTENCY_KEY_REQUIRED'],
      [429, 'RATE_LIMITED'],
    ])
  })

  test('a key that is none is refused with any body', async () => {
    await start()

    const answer = await gateway.post(`${one}\n${two}\n`, 'static', ndjson)

    expect(verdictOf(answer)).toEqual([400, 'IDEMPOTENCY_KEY_REQUIRED'])
  })
})

test('lines under the media type of JSON are many events under one key, and replayed as such', async () => {
  await start()
  const [key, body] = [randomUUID(), `${event()}\n${event()}\n`]

  const answers = [await gateway.post(body, key), await gateway.post(body, key)]

  expect(answers.map(verdictOf)).toEqual([
    [202, false],
    [202, true],
  ])
  expect(answers.map(({ text }) => JSON.parse(text))).toMatchObject([{ accepted: 2 }, { accepted: 2 }])
})

test.each<[string, (all: readonly string[]) => string, Record<string, string>]>([
  ['lines', (all) => all.join('\n'), ndjson],
  ['lines under the media type of JSON', (all) => all.join('\n'), {}],
  ['an array', (all) => `[${all.join(',')}]`, {}],
  ['an array without an end', (all) => `[${all.join(',')}`, {}],
])('in %s a bad element costs only itself, is named in the answer, and counted', async (_, write, headers) => {
  await start()
  const bad = ['{"event_id":"trunc', 'Traceback (most recent call last):', event({ provider: undefined })]
  let sent = 0

  for (const place of [0, 1, 2]) {
    for (const each of bad) {
      const all = [event(), event()]
      all.splice(place, 0, each)
      const { status, text } = await gateway.post(write(all), undefined, headers)
      sent++

      expect([status, JSON.parse(text)]).toMatchObject([202, { accepted: 2, rejected: 1 }])
      expect(JSON.parse(text).results[place]).toMatchObject({ index: place, error_code: expect.any(String) })
    }
  }

  const counts = [...gateway.received.take()].flatMap(([, sources]) => [...sources.all()].map(({ counts }) => counts))
  expect(counts.map(({ accepted }) => accepted)).toEqual([2 * sent])
  expect(Object.fromEntries(counts.flatMap(({ rejected }) => [...rejected.entries()]))).toMatchObject({
    malformed: { count: 6 },
    invalid_provider: { count: 3 },
  })
})

test('lines of a shipper are taken as the events that they mean, two equal ones as two, and their repeats known', async () => {
  await start()
  const line = event({ event_id: undefined, estimated_cost_usd: 0.0055, latency_ms: 12.5, served_model: '', host: 'h' })
  const body = `${line}\n${line}\n${JSON.stringify({ message: line, timestamp: '2026-11-28T22:00:01Z' })}\n`
  const key = randomUUID()

  const answers = []
  for (const each of [undefined, undefined, key, key]) answers.push(await gateway.post(body, each, ndjson))

  expect(answers.map(verdictOf)).toEqual([
    [202, false],
    [202, false],
    [202, false],
    [202, true],
  ])
  const results = answers.map(({ text }) => JSON.parse(text).results as { event_id: string; duplicate: boolean }[])
  const ids = results.map((each) => each.map(({ event_id }) => event_id))
  expect(new Set(ids[0]).size).toBe(3)
  for (const repeated of ids) expect(repeated).toEqual(ids[0])
  expect(results.map((each) => each.map(({ duplicate }) => duplicate))).toEqual([
    [false, false, false],
    ...Array(3).fill([true, true, true]),
  ])
  const stored = gateway.stored.flatMap((message) => decodeGroup(message, 1).map((entry) => entry.event))
  expect(stored).toHaveLength(4)
  for (const each of stored) {
    expect(each).toMatchObject({ estimated_cost_usd: '0.0055', latency_ms: 13 })
    for (const added of ['host', 'message', 'timestamp', 'served_model']) expect(each).not.toHaveProperty(added)
  }
})

test('a single event stays as strict as it was', async () => {
  await start()

  const answers = []
  for (const odd of [{ estimated_cost_usd: 0.0055 }, { event_id: undefined }, { served_model: '' }]) {
    answers.push(await gateway.post(event(odd), randomUUID()))
  }

  expect(answers.map(({ status }) => status)).toEqual([422, 422, 422])
})
