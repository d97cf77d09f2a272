import { randomUUID } from 'node:crypto'
import { gzipSync } from 'node:zlib'
import { pino } from 'pino'
import { afterEach, describe, expect, test } from 'vitest'
import { WAS_BULK } from '../../../internal/ingest/admission/admission.js'
import { FIRST, releasedBy, STORED, takenBy, UNSURE } from '../../../internal/ingest/keys/event-answers.js'
import type { ClaimVerdict } from '../../../internal/ingest/peers/claim.js'
import { decodeGroup, WAS_DUPLICATE, WAS_REPEATED } from '../../../internal/invocations/invocation-group.js'
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
])('the same bytes under one key, to be read in another way, are another body: %s', async (_, body, first, second) => {
  await start()
  const key = randomUUID()

  const taken = await gateway.post(body, key, first)
  const other = await gateway.post(body, key, second)
  const again = await gateway.post(body, key, first)

  expect([verdictOf(taken), verdictOf(other), verdictOf(again)]).toEqual([[202, false], CONFLICT, [202, true]])
})

test.each<[string, string, Record<string, string>, string]>([
  ['no event', '[]', {}, 'VALIDATION_FAILED'],
  ['half an array', '[{', {}, 'MALFORMED_REQUEST'],
  ['too many lines', '{}\n'.repeat(5_001), ndjson, 'PAYLOAD_TOO_LARGE'],
  ['no gzip', 'some text', gzip, 'MALFORMED_REQUEST'],
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
  ['no event', `${event()}\n${event()}`],
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
  ['a bomb', gzipSync(Buffer.alloc(6 * 1024 * 1024, ' ')), gzip, 413],
  ['blanks', gzipSync(Buffer.alloc(5 * 1024 * 1024, ' ')), { ...gzip, ...ndjson }, 422],
  ['no gzip', Buffer.from('some text that is not packed'), gzip, 400],
  ['half an array', Buffer.from(`[${event()}`), {}, 400],
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

test('a bulk request that the budget can never hold is a 413, even by one event: a repeat would not help', async () => {
  await start({ ingestPerSecond: 1 })

  const never = await gateway.post(`[${event()},${event()},${event()}]`, randomUUID())

  expect([...verdictOf(never), (JSON.parse(never.text) as { detail: string }).detail]).toEqual([
    413,
    'PAYLOAD_TOO_LARGE',
    expect.stringContaining('at most 2 events'),
  ])
})

test.each([
  ['is there: a replay', true, 1],
  ['is lost: it is taken once more, and found by its event ids', false, 2],
])('a bulk request that its key owner knows, and whose record %s', async (_, isKept, messages) => {
  const [key, body] = [randomUUID(), `[${event()}]`]
  await start({ verdicts: [{ kind: 'proceed' }, { kind: 'same', flags: WAS_BULK }] })
  const first = await gateway.post(body, key)
  if (!isKept) gateway.records.clear()

  const again = await gateway.post(body, key)

  expect([first.status, again.status, again.isReplay]).toEqual([202, 202, isKept])
  expect(gateway.stored.length).toBe(messages)
  // One for each time that it was admitted.
  expect(gateway.settlements).toEqual(Array(messages).fill(true))
})

test.each([
  ['was new', 0, false],
  ['was known', WAS_DUPLICATE, true],
  ['was under way elsewhere', WAS_REPEATED, true],
])(
  'a request whose key owner is silent gets the first answer again, of an event that %s',
  async (_, flags, duplicate) => {
    const silent = { kind: 'unanswered', isInFlight: false } as ClaimVerdict
    await start({ verdicts: [silent], rechecked: { found: 'same', flags } })

    const again = await gateway.post(event(), randomUUID())

    expect([again.status, again.isReplay, JSON.parse(again.text).duplicate]).toEqual([202, true, duplicate])
    expect([gateway.stored.length, gateway.settlements]).toEqual([0, [true]])
  },
)

test.each([
  ['a single event', event()],
  ['a bulk request', `[${event()}]`],
])('a key that has another owner by the time its event is stored is made known to that one: %s', async (_, body) => {
  await start({ isLogHeld: true })
  const posted = gateway.post(body, randomUUID())
  await gateway.untilInFlight(1)

  gateway.loseKeys()
  gateway.release()

  expect((await posted).status).toBe(202)
  expect(gateway.settlements).toEqual([true])
})

test.each([
  ['as eight single events', (body: string) => body],
  ['in eight bulk requests', (body: string) => `[${body},${event({ trace_id: 'another' })}]`],
])('one event with eight traces, all under way at once, goes to one partition: %s', async (_, bodyOf) => {
  await start({ isLogHeld: true })
  const eventId = randomUUID()
  const bodies = Array.from({ length: 8 }, (_, i) => event({ event_id: eventId, trace_id: `trace-${i}` }))

  const posted = bodies.map((body) => gateway.post(bodyOf(body), randomUUID()))
  await gateway.untilInFlight(8)
  gateway.release()
  const answers = await Promise.all(posted)
  const later = await gateway.post(bodies[0] ?? '', randomUUID())

  expect(answers.map(({ status }) => status)).toEqual(bodies.map(() => 202))
  // None is a duplicate for certain before the log has one.
  expect(answers.filter(({ text }) => text.includes('"duplicate":true'))).toEqual([])
  expect(later.text).toContain('"duplicate":true')
  const partitions = gateway.stored.flatMap((message, i) =>
    decodeGroup(message, 1)
      .filter(({ event: { event_id: id }, key }) => id === eventId && (key?.flags ?? 0) % 2 === 0)
      .map(() => gateway.subjects[i]),
  )
  expect([partitions.length, new Set(partitions).size]).toEqual([8, 1])
})

const singleAndBulk: readonly (readonly [string, (body: string) => string])[] = [
  ['a single event', (body) => body],
  ['a bulk request', (body) => `[${body}]`],
]

describe.each(singleAndBulk)('the owner of the event of %s', (_, bodyOf) => {
  const entries = () =>
    gateway.stored.flatMap((message, i) =>
      decodeGroup(message, 1).map(({ key, isUnconfirmed = false }) => ({
        subject: gateway.subjects[i],
        flags: (key?.flags ?? 0) & ~WAS_BULK,
        isUnconfirmed,
      })),
    )

  test.each([0, 1])(
    'has it taken to partition %i: it goes there, as an event, and is a duplicate',
    async (partition) => {
      await start({ eventAnswers: [takenBy(partition)] })
      const [key, body] = [randomUUID(), bodyOf(event())]

      const first = await gateway.post(body, key)
      const again = await gateway.post(body, key)

      expect(first.text).toContain('"duplicate":true')
      expect([first.status, again.isReplay, again.text, gateway.eventClaims.length]).toEqual([202, true, first.text, 1])
      const flags = body.startsWith('[') ? 0 : WAS_REPEATED
      expect(entries()).toEqual([{ subject: `invocations.a.${partition}`, flags, isUnconfirmed: true }])
    },
  )

  test('has it in the log: only the key is stored', async () => {
    await start({ eventAnswers: [STORED] })

    const answer = await gateway.post(bodyOf(event()), randomUUID())

    expect(answer.text).toContain('"duplicate":true')
    expect(entries()).toMatchObject([{ flags: WAS_DUPLICATE, isUnconfirmed: false }])
  })

  test.each([
    ['knows no other', FIRST, false],
    ['does not answer', UNSURE, true],
    ['has it released', releasedBy(1), true],
  ])('%s: it is the first', async (_what, eventAnswer, isUnconfirmed) => {
    await start({ eventAnswers: [eventAnswer] })

    const answer = await gateway.post(bodyOf(event()), randomUUID())

    expect(answer.text).toContain('"duplicate":false')
    expect(entries()).toMatchObject([{ flags: 0, isUnconfirmed }])
    if (eventAnswer === releasedBy(1)) expect(gateway.subjects).toEqual(['invocations.a.1'])
    expect(gateway.eventOutcomes).toEqual([true])
  })

  test('hears that it was not stored', async () => {
    await start({ eventAnswers: [FIRST], isLogAway: true })

    expect((await gateway.post(bodyOf(event()), randomUUID())).status).toBe(503)
    expect(gateway.eventOutcomes).toEqual([false])
  })

  test('is not asked by a request that loses its key', async () => {
    await start({ eventAnswers: [FIRST], verdicts: [{ kind: 'conflict' }] })

    expect((await gateway.post(bodyOf(event()), randomUUID())).status).toBe(422)
    expect(gateway.eventClaims).toEqual([])
  })
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

  const lane = invocationsSubject('a', 2)
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
