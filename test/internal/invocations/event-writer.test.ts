import fc from 'fast-check'
import { expect, test } from 'vitest'
import { type EventParts, EventWriter } from '../../../internal/invocations/event-writer.js'

const anyText = fc.string({ unit: 'binary', maxLength: 300 })
const anyValue = fc.oneof(
  anyText,
  fc.string({ maxLength: 40 }),
  fc.integer(),
  fc.nat(),
  fc.double({ noNaN: true, noDefaultInfinity: true }),
  fc.boolean(),
  fc.dictionary(anyText, anyText, { maxKeys: 16 }),
  fc.constantFrom(null, undefined, 0, 9, 10, 99_999_999, 100_000_000, -0),
)
const anyEvent = fc.dictionary(fc.stringMatching(/^[a-z_]{1,24}$/), anyValue, { maxKeys: 43 })

test('an event is written as JSON.stringify writes it, whatever was written before', () => {
  const writer = new EventWriter()

  fc.assert(
    fc.property(anyEvent, (event) => {
      const length = writer.write(event as unknown as EventParts)

      expect(writer.bytes.toString('utf8', 0, length)).toBe(Buffer.from(JSON.stringify(event)).toString())
    }),
  )
})

test('a writer that is used again holds nothing of what it wrote before', () => {
  const writer = new EventWriter()
  const events = ['ada', 'ada', 'x'.repeat(5_000)].map((name) => ({ attributed_identity: name, region: 'eu' }))
  for (const event of events) writer.write(event as unknown as EventParts)

  writer.forget()

  expect(JSON.stringify(writer)).not.toContain('ada')
  expect(writer.bytes.toString('latin1')).not.toContain('ada')
  const length = writer.write(events[0] as unknown as EventParts)
  expect(writer.bytes.toString('utf8', 0, length)).toBe(JSON.stringify(events[0]))
})
