import fc from 'fast-check'
import { expect, test } from 'vitest'
import { type EventParts, EventWriter } from '../../../internal/invocations/event-writer.js'
import { readUsualMembers, readUsualText } from '../../../internal/invocations/hot-reader.js'
import { FULL_EVENT } from '../../support/full-event.js'
import { NOW_MS, wireEvent } from '../../support/invocations.js'

const FULL = wireEvent(FULL_EVENT)

const values = fc.oneof(
  fc.constantFrom(...Object.values(FULL)),
  fc.constantFrom(
    '2026-11-03T12:00:00Z',
    '2027-11-03T12:00:00Z',
    '',
    'a',
    'b\n',
    'é',
    'x'.repeat(257),
    'y'.repeat(256),
  ),
  fc.constantFrom(null, undefined, true, 0, 1.5, -1, 1e15, 0.95, {}, { team: 'core' }, { prompt: 'x' }),
  fc.nat(),
)
/** An event with other values in some of its fields, or without them, and with fields that no event has. */
const others = fc.array(fc.tuple(fc.constantFrom(...Object.keys(FULL), 'note'), values), { maxLength: 3 })
const left = fc.subarray(['region', 'tags', 'trace_id', 'latency_ms', 'provider'], { maxLength: 2 })
const events = fc.array(fc.tuple(others, left), { minLength: 1, maxLength: 6 })

function eventOf([changes, absent]: readonly [readonly (readonly [string, unknown])[], readonly string[]]) {
  const event: Record<string, unknown> = { ...FULL, ...Object.fromEntries(changes) }
  for (const field of absent) delete event[field]
  return event as unknown as EventParts
}

/** A copy: what is read holds until the next call. */
const copied = (usual: ReturnType<typeof readUsualText>) => usual && { ...usual, uuid: Uint8Array.from(usual.uuid) }

test('members that were written are read as their text is, whatever was written before', () => {
  let taken = 0
  fc.assert(
    fc.property(events, fc.constantFrom(0, NOW_MS - 1, NOW_MS + 1), (all, retainedFromMs) => {
      const writer = new EventWriter()
      // Twice each: the second time, most values are known.
      for (const event of all.flatMap((each) => [eventOf(each), eventOf(each)])) {
        const length = writer.write(event)
        const { bytes, members, count } = writer

        const asMembers = copied(readUsualMembers(bytes, members, count, NOW_MS, retainedFromMs))

        expect(asMembers).toEqual(copied(readUsualText(bytes, 0, length, NOW_MS, retainedFromMs)))
        if (asMembers !== undefined) taken++
      }
    }),
  )
  expect(taken).toBeGreaterThan(0)
})

test('a time that has been read before is read again against another clock', () => {
  const writer = new EventWriter()
  const readAt = (retainedFromMs: number) => {
    writer.write(FULL as unknown as EventParts)
    return readUsualMembers(writer.bytes, writer.members, writer.count, NOW_MS, retainedFromMs)
  }

  expect(readAt(0)).toBeDefined()
  expect(readAt(NOW_MS + 1)).toBeUndefined()
})
