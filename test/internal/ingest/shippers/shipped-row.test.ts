import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { eventOfRow, LineIds } from '../../../../internal/ingest/shippers/shipped-row.js'
import { validateInvocation } from '../../../../internal/invocations/validate-invocation.js'
import { UUID_TEXT } from '../../../../internal/text/plain-text.js'

const NOW_MS = Date.UTC(2026, 10, 29)
const EVENT = {
  event_id: '0f8fad5b-d9cb-469f-a165-70867728950e',
  ingestion_layer: 'application',
  ingestion_timestamp: '2026-11-28T22:00:00Z',
  provider: 'openai',
  requested_model: 'gpt-4o',
}
type Fields = Readonly<Record<string, unknown>>
const row = (fields: Fields): Fields => ({ ...EVENT, ...fields })
const without = (fields: Fields, ...names: readonly string[]): Fields =>
  Object.fromEntries(Object.entries(fields).filter(([name]) => !names.includes(name)))
const read = (value: unknown): Fields => eventOfRow(value, new LineIds()) as Fields

/** Reads a row, which as such is no event. */
function readOdd(value: Fields): Fields {
  expect(validateInvocation(value, NOW_MS).ok).toBe(false)
  const event = read(value)
  expect(validateInvocation(event, NOW_MS)).toMatchObject({ ok: true })
  return event
}

describe('values in another form than that of the API', () => {
  test.each<[string, unknown, unknown]>([
    ['estimated_cost_usd', 0.0055, '0.0055'],
    ['estimated_cost_usd', 0.00021779999999999998, '0.0002178'],
    ['estimated_cost_usd', 5.5e-7, '0.00000055'],
    ['estimated_cost_usd', '1.2E-05', '0.000012'],
    ['estimated_cost_usd', 0, '0'],
    ['energy_wh', 12, '12'],
    ['latency_ms', 12.5, 13],
    ['latency_ms', '811.4', 811],
    ['input_tokens', '100', 100],
    ['request_id', 4711, '4711'],
    ['attributed_service', 7, '7'],
    ['served_from_cache', 'true', true],
    ['is_cost_notional', 'False', false],
    ['attribution_confidence', '0.8', 0.8],
    ['ingestion_timestamp', '2026-11-28T22:00:00+01:00', '2026-11-28T21:00:00.000Z'],
    ['ingestion_timestamp', '2026-11-28 22:00:00.5', '2026-11-28T22:00:00.500Z'],
    ['ingestion_timestamp', 1795903200.25, '2026-11-28T22:00:00.250Z'],
    ['ingestion_timestamp', 1795903200250, '2026-11-28T22:00:00.250Z'],
    ['ingestion_timestamp', '1795903200250', '2026-11-28T22:00:00.250Z'],
    ['ingestion_timestamp', 1795903200250000000, '2026-11-28T22:00:00.250Z'],
    ['tags', { team: 7, prod: true, empty: '' }, { team: '7', prod: 'true' }],
    ['billed_units', { seconds: 12.5 }, { seconds: '12.5' }],
  ])('%s: %j', (field, value, expected) => {
    expect(readOdd(row({ [field]: value }))[field]).toEqual(expected)
  })

  test.each(['served_model', 'attributed_identity', 'input_tokens', 'estimated_cost_usd', 'outcome', 'tags'])(
    'an empty %s is absent',
    (field) => {
      expect(readOdd(row({ [field]: '' }))).not.toHaveProperty(field)
    },
  )

  test('an id of more digits than a number holds is absent', () => {
    expect(readOdd(row({ request_id: 2 ** 60 }))).not.toHaveProperty('request_id')
  })

  test.each<[string, unknown]>([
    ['provider', ''],
    ['provider', 5],
    ['estimated_cost_usd', -1],
    ['estimated_cost_usd', 'much'],
    ['input_tokens', 1.5],
    ['latency_ms', -3],
    ['latency_ms', 'fast'],
    ['ingestion_timestamp', 'yesterday'],
    ['billed_units', 'none'],
    ['tags', ['a']],
    ['constructor', { prompt: 'x' }],
    ['messages', [{ role: 'user', content: 'hi' }]],
    ['message', { role: 'assistant', content: 'hi' }],
    ['metadata', { prompt: 'hi' }],
  ])('%s %j is refused, as by the API', (field, value) => {
    expect(validateInvocation(read(row({ [field]: value })), NOW_MS).ok).toBe(false)
  })

  test('an id that is no UUID gives one, the same each time and another than any other', () => {
    const ids = ['abc-1', 'abc-2', 4711, '4711 '].map((id) => readOdd(row({ event_id: id }))['event_id'])

    expect(ids).toEqual(['abc-1', 'abc-2', 4711, '4711'].map((id) => read(row({ event_id: id }))['event_id']))
    expect(ids[2]).toBe(ids[3])
    expect(new Set(ids).size).toBe(3)
    for (const id of ids) expect(id).toMatch(UUID_TEXT)
  })
})

describe('what shippers add', () => {
  const fluentBit = {
    date: 1795903200.12,
    log: 'text',
    stream: 'stdout',
    _p: 'F',
    kubernetes: { labels: { input: 'x' } },
  }
  const vector = {
    message: 'text',
    timestamp: '2026-11-28T22:00:01Z',
    host: 'h',
    source_type: 'file',
    file: '/var/log/x',
  }
  const syslogNg = { MESSAGE: 'text', HOST: 'h', PROGRAM: 'app', PRIORITY: 'info' }
  const filebeat = {
    '@timestamp': '2026-11-28T22:00:01.000Z',
    '@metadata': { beat: 'filebeat' },
    message: 'text',
    input: { type: 'filestream' },
    log: { offset: 7, file: { path: '/var/log/x' } },
    agent: { ephemeral_id: 'x' },
    host: { name: 'h' },
  }

  test.each(Object.entries({ fluentBit, vector, syslogNg, filebeat }))('costs no event: %s', (_, added) => {
    const { ok } = validateInvocation(read({ ...EVENT, ...added }), NOW_MS)

    expect(ok).toBe(true)
  })

  test.each<[string, Fields, string]>([
    ['time', { time: '2026-11-28T23:00:00+01:00', ...fluentBit, ...vector }, '2026-11-28T22:00:00.000Z'],
    ['@timestamp', { '@timestamp': '2026-11-28T22:00:03Z', ...vector }, '2026-11-28T22:00:03Z'],
    ['@timestamp of Filebeat', filebeat, '2026-11-28T22:00:01.000Z'],
    ['timestamp beside that', { ...filebeat, timestamp: '2026-11-28T22:00:09Z' }, '2026-11-28T22:00:09Z'],
    ['timestamp', vector, '2026-11-28T22:00:01Z'],
    ['date', fluentBit, '2026-11-28T22:00:00.120Z'],
  ])('is the time of a call that states none itself: %s', (_, added, expected) => {
    const event = readOdd({ ...without(EVENT, 'ingestion_timestamp'), ...added })

    expect(event['ingestion_timestamp']).toBe(expected)
  })

  test.each(['message', 'log', 'line'])('may have the event as a text in %s', (name) => {
    const { event_id: id, ...rest } = EVENT

    expect(readOdd({ host: 'h', timestamp: '2026-11-28T22:00:01Z', [name]: JSON.stringify(EVENT) })).toMatchObject(
      EVENT,
    )
    expect(readOdd({ host: 'h', [name]: JSON.stringify(rest) })).toMatchObject(rest)
    expect(id).not.toBe(read({ [name]: JSON.stringify(rest) })['event_id'])
  })
})

describe('the id of a line that has none', () => {
  const line = without(EVENT, 'event_id')
  const idsOf = (batch: readonly Fields[]): readonly unknown[] => {
    const ids = new LineIds()
    return batch.map((each) => (eventOfRow(each, ids) as Fields)['event_id'])
  }

  test.each(['', null, '-', 'null', undefined])('also where it is %j', (id) => {
    expect(idsOf([{ ...line, event_id: id }])[0]).toMatch(UUID_TEXT)
  })

  test('is that of the line, however often and in whatever batch it comes; equal lines of a batch are several', () => {
    const lines = fc.array(
      fc.nat(3).map((n) => ({ ...line, input_tokens: n })),
      { minLength: 1, maxLength: 20 },
    )
    fc.assert(
      fc.property(lines, fc.nat(), (batch, cut) => {
        const ids = idsOf(batch)
        const at = cut % batch.length

        expect(idsOf(batch)).toEqual(ids)
        expect(new Set(ids).size).toBe(batch.length)
        // Batched in another way, there is no id that the whole did not have.
        expect(ids).toEqual(expect.arrayContaining([...idsOf(batch.slice(0, at)), ...idsOf(batch.slice(at))]))
      }),
    )
  })

  test('does not depend on when a shipper has read the line, unless the line has no other time', () => {
    const timed = { ...line, time: '2026-11-28T22:00:00Z' }
    const readAt = (date: number, fields: Fields) => ({ ...fields, date, '@metadata': { id: date }, host: 'h' })

    for (const each of [line, timed, without(timed, 'ingestion_timestamp')])
      expect(idsOf([readAt(1, each)])).toEqual(idsOf([readAt(2, each)]))
    const untimed = without(line, 'ingestion_timestamp')
    expect(idsOf([readAt(1, untimed)])).not.toEqual(idsOf([readAt(2, untimed)]))
    expect(idsOf([{ ...timed, host: 'h' }])).not.toEqual(idsOf([{ ...timed, host: 'i' }]))
  })
})

test('what is no object stays what it is', () => {
  for (const value of [null, 7, 'text', [EVENT]]) expect(read(value)).toBe(value)
})
