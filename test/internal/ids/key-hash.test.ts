import { randomBytes, randomUUID } from 'node:crypto'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { deriveTenantIds, invocationIdBytes } from '../../../internal/ids/ids.js'
import { hashIdempotencyKey, hashOfInvocationId } from '../../../internal/ids/key-hash.js'
import { sipKey } from '../../../internal/ids/siphash.js'

const TENANT = sipKey(new Uint8Array(16).fill(1))
const OTHER_TENANT = sipKey(new Uint8Array(16).fill(2))

function hash(text: string, { tenant = TENANT, route = 0 } = {}): string | undefined {
  const out = new Int32Array(4)
  return hashIdempotencyKey(tenant, route, text, out) ? out.join() : undefined
}

/** An independent encoder: 128 bits as a ULID. */
function ulidOf(bytes: Uint8Array): string {
  let value = BigInt(`0x${Buffer.from(bytes).toString('hex')}`)
  let text = ''
  for (let i = 0; i < 26; i++) {
    text = '0123456789ABCDEFGHJKMNPQRSTVWXYZ'[Number(value & 31n)] + text
    value >>= 5n
  }
  return text
}

function uuidOf(bytes: Uint8Array): string {
  const hex = Buffer.from(bytes).toString('hex')
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join('-')
}

const sixteenBytes = fc.uint8Array({ minLength: 16, maxLength: 16 })

test('the spelling of a key does not matter: case, quotes', () => {
  fc.assert(
    fc.property(sixteenBytes, (bytes) => {
      for (const text of [uuidOf(bytes), ulidOf(bytes)]) {
        const expected = hash(text.toUpperCase())
        expect(expected).toBeDefined()
        expect(hash(text.toLowerCase())).toBe(expected)
        expect(hash(`"${text}"`)).toBe(expected)
      }
    }),
  )
})

test('a UUID and a ULID of equal bytes are different keys', () => {
  fc.assert(fc.property(sixteenBytes, (bytes) => hash(uuidOf(bytes)) !== hash(ulidOf(bytes))))
})

test('different keys, tenants and routes have different hashes', () => {
  const texts = Array.from({ length: 2_000 }, () => [randomUUID(), ulidOf(randomBytes(16))]).flat()
  const hashes = texts.flatMap((text) => [
    hash(text),
    hash(text, { route: 1 }),
    hash(text, { route: 127 }),
    hash(text, { tenant: OTHER_TENANT }),
  ])

  expect(new Set(hashes).size).toBe(texts.length * 4)
})

test('each character of a key counts', () => {
  for (const text of ['00000000-0000-0000-0000-000000000000', '00000000000000000000000000']) {
    const hashes = new Set([hash(text)])
    for (let i = 0; i < text.length; i++) {
      if (text[i] !== '-') hashes.add(hash(`${text.slice(0, i)}1${text.slice(i + 1)}`))
    }
    expect(hashes.has(undefined)).toBe(false)
    expect(hashes.size).toBe(text.replaceAll('-', '').length + 1)
  }
})

test('a text that is neither a UUID nor a ULID is refused and leaves the words unchanged', () => {
  const uuid = 'b1e7d3a0-5b1c-4f6e-9a55-3d2f1c0b9a87'
  const ulid = '01ARZ3NDEKTSV4RRFFQ69G5FAV'
  const refused = [
    '',
    '"',
    '""',
    `"${uuid}`,
    `${uuid}"`,
    `""${uuid}""`,
    ` ${uuid}`,
    uuid.replaceAll('-', ''),
    `{${uuid}}`,
    `g${uuid.slice(1)}`,
    `é${uuid.slice(1)}`,
    uuid.replace('-', '0'),
    `${uuid}0`,
    `8${ulid.slice(1)}`,
    ...['I', 'L', 'O', 'U', 'é', '-'].map((letter) => `${ulid.slice(0, 25)}${letter}`),
    ulid.slice(1),
    `${ulid}0`,
    `${uuid}, ${uuid}`,
  ]

  for (const text of refused) {
    const out = Int32Array.of(1, 2, 3, 4)
    expect([text, hashIdempotencyKey(TENANT, 0, text, out)]).toEqual([text, false])
    expect([...out]).toEqual([1, 2, 3, 4])
  }
  expect(hash(`7${'Z'.repeat(25)}`)).toBeDefined()
})

test('event ids of one tenant spread over all bits of the first word, which addresses the segment', () => {
  const ids = deriveTenantIds(new Uint8Array(32).fill(3), 'tenant')
  const ones = new Uint32Array(32)
  const seen = new Set<string>()
  const out = new Int32Array(4)
  const count = 20_000

  for (let i = 0; i < count; i++) {
    hashOfInvocationId(invocationIdBytes(ids, randomBytes(16)), out)
    seen.add(out.join())
    for (let bit = 0; bit < 32; bit++) ones[bit] = (ones[bit] ?? 0) + (((out[0] ?? 0) >>> bit) & 1)
  }

  expect(seen.size).toBe(count)
  for (const one of ones) expect(Math.abs(one - count / 2)).toBeLessThan(6 * Math.sqrt(count / 4))
})
