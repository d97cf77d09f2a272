import fc from 'fast-check'
import { expect, test } from 'vitest'
import { hashOfInvocationId } from '../../../../internal/ids/key-hash.js'
import { EventsInFlight } from '../../../../internal/ingest/keys/events-in-flight.js'

/** Ids of few kinds, so that equal ones, equal chains and both at once occur; the first four bytes are the tenant's. */
const ids = fc
  .tuple(fc.nat(1), fc.constantFrom(0, 1, 255), fc.constantFrom(0, 0x40, 255), fc.nat(2))
  .map(([tenant, low, high, last]) => Uint8Array.from([tenant, 9, 9, 9, low, high, 0, 0, last, 0, 0, 0, 7, 7, 7, 7]))
/** Begins an event, or ends one of those that are under way. */
const steps = fc.array(
  fc.oneof(
    { weight: 3, arbitrary: fc.record({ id: ids, partition: fc.nat(63) }) },
    { weight: 2, arbitrary: fc.record({ ends: fc.nat() }) },
  ),
  { maxLength: 80 },
)

test('an event goes to its first partition while it is in flight, and leaves no trace afterwards', () => {
  fc.assert(
    fc.property(steps, (taken) => {
      const underWay = new EventsInFlight(36)
      const known = new Map<string, { partition: number; count: number }>()
      const key = new Int32Array(4)
      const begun: { readonly slot: number; readonly name: string }[] = []
      const end = (at: number): void => {
        const [{ slot, name }] = begun.splice(at, 1) as [(typeof begun)[number]]
        underWay.end(slot)
        const event = known.get(name)
        if (event !== undefined && --event.count === 0) known.delete(name)
      }
      for (const step of taken) {
        if ('ends' in step) {
          if (begun.length > 0) end(step.ends % begun.length)
        } else {
          const name = Buffer.from(step.id.subarray(4, 12)).toString('hex')
          const event = known.get(name) ?? { partition: step.partition, count: 0 }
          known.set(name, { ...event, count: event.count + 1 })
          const slot = underWay.begin(step.id, step.partition)
          begun.push({ slot, name })
          expect(underWay.partitionOf(slot)).toBe(event.partition)
          hashOfInvocationId(step.id, key)
          expect(underWay.find(key)).toBe(event.partition)
        }
        expect(underWay.events).toBe(known.size)
      }
      while (begun.length > 0) end(0)
      expect(underWay.events).toBe(0)
      expect(underWay.find(key)).toBeUndefined()
    }),
  )
})

test('as many as there may be, and again once they are through', () => {
  const underWay = new EventsInFlight(1_000)
  const idOf = (i: number): Uint8Array => {
    const id = new Uint8Array(16)
    new DataView(id.buffer).setUint32(4, Math.imul(i, 0x9e3779b1))
    return id
  }
  for (let round = 0; round < 3; round++) {
    const slots = Array.from({ length: 1_000 }, (_, i) => underWay.begin(idOf(i), (i + round) % 8))
    expect(slots.map((slot) => underWay.partitionOf(slot))).toEqual(slots.map((_, i) => (i + round) % 8))
    expect(() => underWay.begin(idOf(1_000), 0)).toThrow(RangeError)
    for (const slot of slots) underWay.end(slot)
  }
})
