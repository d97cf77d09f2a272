import fc from 'fast-check'
import { expect, test } from 'vitest'
import { DistinctIds } from '../../../../internal/ingest/bulk/distinct-ids.js'

/** Ids of few kinds, so that equal ones and equal places in the table both occur. */
const ids = fc
  .tuple(fc.nat(3), fc.constantFrom(0, 1, 255), fc.nat(2))
  .map(([place, byte, last]) => Uint8Array.from([9, 9, 9, 9, place, 0, 0, byte, ...Array(7).fill(byte), last]))

test('an id is new once, regardless of the ids in between', () => {
  fc.assert(
    fc.property(fc.array(ids, { maxLength: 60 }), (added) => {
      const distinct = new DistinctIds(added.length)
      const seen = new Set<string>()
      for (const id of added) {
        const text = Buffer.from(id).toString('hex')
        const isNew = !seen.has(text)
        expect(distinct.add(id)).toBe(isNew ? seen.size : -1)
        seen.add(text)
        if (!isNew) continue
        const read = new Uint8Array(16)
        distinct.read(seen.size - 1, read)
        expect(read).toEqual(id)
      }
    }),
  )
})

test('the set holds as many ids as one request may have', () => {
  const distinct = new DistinctIds(5_000)
  const idOf = (i: number): Uint8Array => {
    const id = new Uint8Array(16)
    new DataView(id.buffer).setUint32(4, Math.imul(i, 0x9e3779b1))
    return id
  }
  for (const isNew of [true, false]) {
    for (let i = 0; i < 5_000; i++) if (distinct.add(idOf(i)) !== (isNew ? i : -1)) throw new Error(`wrong of ${i}`)
  }
})
