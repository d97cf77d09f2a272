import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { decodeBase32, encodeBase32 } from '../../../internal/ids/base32.js'
import {
  deriveTenantIds,
  formatId,
  hasTagOf,
  idHex,
  invocationIdBytes,
  isUuid,
  parseId,
  randomId,
  uuidBytes,
} from '../../../internal/ids/ids.js'
import { sipHash128, sipKey } from '../../../internal/ids/siphash.js'
import { drawn } from '../../support/run/rings.js'

const hash = (key: Uint8Array, input: Uint8Array): string => {
  const out = new Uint8Array(16)
  sipHash128(sipKey(key), input, out)
  return Buffer.from(out).toString('hex')
}

describe('siphash', () => {
  const key = Uint8Array.from({ length: 16 }, (_, i) => i)

  test.each([
    // vectors_sip128 of the reference implementation
    [0, 'a3817f04ba25a8e66df67214c7550293'],
    [1, 'da87c1d86b99af44347659119b22fc45'],
    // computed with OpenSSL 3: openssl mac -macopt hexkey:0001..0f -macopt size:16 SIPHASH
    [15, '5493e99933b0a8117e08ec0f97cfc3d9'],
    [16, '6ee2a4ca67b054bbfd3315bf85230577'],
    [63, '5150d1772f50834a503e069a973fbd7c'],
  ])('the input 00 01 02 ... of %i bytes has the published hash', (length, expected) => {
    expect(
      hash(
        key,
        Uint8Array.from({ length }, (_, i) => i),
      ),
    ).toBe(expected)
  })
})

describe('base32', () => {
  test('decode(encode(x)) is x, and the texts sort as the bytes do', () => {
    const bytes = fc.uint8Array({ minLength: 16, maxLength: 16 })
    fc.assert(
      fc.property(bytes, bytes, (one, other) => {
        expect(decodeBase32(encodeBase32(one), 16)).toEqual(one)
        expect(encodeBase32(one) < encodeBase32(other)).toBe(Buffer.compare(one, other) < 0)
      }),
    )
  })

  test('bytes of any number are their bits, five to a character', () => {
    const lengths = fc.oneof(fc.constant(16), fc.nat({ max: 40 }))
    const bytes = lengths.chain((length) => fc.uint8Array({ minLength: length, maxLength: length }))
    fc.assert(
      fc.property(bytes, (some) => {
        const bits = Array.from(some, (byte) => byte.toString(2).padStart(8, '0')).join('')
        const characters = Array.from(bits.matchAll(/.{1,5}/g), ([five]) => {
          return '0123456789abcdefghjkmnpqrstvwxyz'.charAt(Number.parseInt(five.padEnd(5, '0'), 2))
        })
        expect(encodeBase32(some)).toBe(characters.join(''))
        expect(encodeBase32(Buffer.concat([Buffer.alloc(3), some]).subarray(3))).toBe(characters.join(''))
      }),
      { numRuns: drawn(1000) },
    )
  })

  test('a text that is not canonical is refused', () => {
    const text = encodeBase32(new Uint8Array(16))

    expect(decodeBase32(text, 16)).toEqual(new Uint8Array(16))
    expect(decodeBase32(`${text.slice(0, -1)}1`, 16)).toBeUndefined()
    expect(decodeBase32(text.slice(1), 16)).toBeUndefined()
    expect(decodeBase32(`${text.slice(0, -1)}u`, 16)).toBeUndefined()
  })
})

describe('ids', () => {
  const key = new Uint8Array(32).fill(7)
  const mine = deriveTenantIds(key, 'tnt_mine')
  const theirs = deriveTenantIds(key, 'tnt_theirs')

  test('an id carries the tag of its tenant and of no other', () => {
    const bytes = parseId('key', randomId('key', mine))

    expect(bytes && hasTagOf(bytes, mine)).toBe(true)
    expect(bytes && hasTagOf(bytes, theirs)).toBe(false)
  })

  test('the id of a call depends on tenant and event_id alone, however the UUID is spelled', () => {
    const spelled = (text: string) => formatId('inv', invocationIdBytes(mine, uuidBytes(text)))
    const event = '1e97cac7-9f49-58d8-9757-dd783ae5ff8a'

    expect(spelled(event)).toBe(spelled(event.toUpperCase()))
    expect(spelled(event)).not.toBe(spelled('1e97cac7-9f49-58d8-9757-dd783ae5ff8b'))
    expect(spelled(event)).not.toBe(formatId('inv', invocationIdBytes(theirs, uuidBytes(event))))
  })

  test('the bytes of a UUID are its digits, whatever their case', () => {
    const uuids = fc
      .tuple(fc.uint8Array({ minLength: 16, maxLength: 16 }), fc.infiniteStream(fc.boolean()))
      .map(([bytes, isUpper]) => {
        const hex = Buffer.from(bytes)
          .toString('hex')
          .replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-')
        return [bytes, hex.replace(/./g, (digit) => (isUpper.next().value ? digit.toUpperCase() : digit))] as const
      })
    fc.assert(
      fc.property(uuids, ([bytes, text]) => {
        const into = new Uint8Array(16).fill(0xa5)

        expect(isUuid(text)).toBe(true)
        expect(uuidBytes(text)).toEqual(bytes)
        expect(uuidBytes(text, into)).toBe(into)
        expect(into).toEqual(bytes)
        expect(idHex(bytes)).toBe(Buffer.from(bytes).toString('hex'))
      }),
      { numRuns: drawn(1000) },
    )
  })

  test('the bytes of a UUID are the caller’s own, unless it says where to write them', () => {
    const first = uuidBytes('00112233-4455-6677-8899-aabbccddeeff')
    const second = uuidBytes('ffffffff-ffff-ffff-ffff-ffffffffffff')

    expect(idHex(first)).toBe('00112233445566778899aabbccddeeff')
    expect(idHex(second)).toBe('f'.repeat(32))
  })

  test('an id of another type is refused', () => {
    expect(parseId('attr', randomId('inv', mine))).toBeUndefined()
    expect(parseId('attr', 'attr_')).toBeUndefined()
  })
})
