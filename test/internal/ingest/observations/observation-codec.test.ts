import { describe, expect, test } from 'vitest'
import {
  decodeObservations,
  encodeObservation,
  encodeObservations,
  type ObservationAdmission,
} from '../../../../internal/ingest/observations/observation-codec.js'
import type { ObservationEvent } from '../../../../internal/ingest/observations/observation-schema.js'
import { idOf, NOW_MS } from '../../../support/invocations.js'

const admission: ObservationAdmission = {
  tenantId: 'tnt_é',
  principal: 'key_one',
  id: idOf(1),
  receivedAtMs: NOW_MS + 7,
}
const event = (stated: Partial<ObservationEvent> = {}): ObservationEvent => ({
  event_id: '01890A5D-AC96-774B-BCCE-B302099A8057',
  type: 'capture.heartbeat',
  occurred_at: '2026-11-03T12:00:00.123Z',
  source: 'proxy-eu-1',
  trace_id: 'trace-1',
  data: { layer: 'gateway', deep: { list: [1, 'é', null, true] } },
  ...stated,
})

const readBack = (...entries: readonly string[]) => decodeObservations(encodeObservations(entries), 9)

describe('an observation read back', () => {
  test('holds every field, its sender, its time of acceptance and its position', () => {
    const [, read] = readBack(encodeObservation(admission, event()), encodeObservation(admission, event()))

    expect(read).toEqual({
      tenantId: 'tnt_é',
      principal: 'key_one',
      id: Buffer.from(idOf(1)),
      receivedAtMs: NOW_MS + 7,
      position: { sequence: 9, index: 1 },
      eventId: '01890a5d-ac96-774b-bcce-b302099a8057',
      type: 'capture.heartbeat',
      source: 'proxy-eu-1',
      occurredAtMs: Date.parse('2026-11-03T12:00:00.123Z'),
      traceId: 'trace-1',
      data: '{"layer":"gateway","deep":{"list":[1,"é",null,true]}}',
    })
  })

  test('has no trace where none was stated', () => {
    for (const trace_id of [undefined, null]) {
      expect(readBack(encodeObservation(admission, event({ trace_id })))[0]?.traceId).toBeUndefined()
    }
  })

  test('has no field outside the schema', () => {
    const entry = encodeObservation(admission, { ...event(), note: 'a text' } as ObservationEvent)

    expect(entry).not.toContain('note')
  })
})

test('a message may hold no observation', () => {
  expect(readBack()).toEqual([])
})

describe('poison', () => {
  const entry = JSON.parse(encodeObservation(admission, event())) as Record<string, unknown>

  test.each(['', '[', 'null', '{}', '[null]', '[1]', '[{}]', '[[]]'])('"%s" is not a message', (text) => {
    expect(() => decodeObservations(Buffer.from(text), 9)).toThrow(Error)
  })

  test.each([
    ['t', undefined],
    ['t', 1],
    ['p', null],
    ['i', 'x'],
    ['r', -1],
    ['r', '1'],
    ['r', 1.5],
    ['e', undefined],
    ['e', { ...event(), event_id: 'x' }],
    ['e', { ...event(), type: 1 }],
    ['e', { ...event(), source: undefined }],
    ['e', { ...event(), occurred_at: 'now' }],
    ['e', { ...event(), occurred_at: '1969-12-31T23:59:59Z' }],
    ['e', { ...event(), trace_id: 1 }],
    ['e', { ...event(), data: null }],
    ['e', { ...event(), data: 'x' }],
  ])('an entry whose %s is %j cannot be stored, and is not taken for one that can', (member, value) => {
    const data = Buffer.from(JSON.stringify([{ ...entry, [member]: value }]))

    expect(() => decodeObservations(data, 9)).toThrow(Error)
  })
})
