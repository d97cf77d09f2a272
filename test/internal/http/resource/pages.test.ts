import { createHmac } from 'node:crypto'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  CURSOR_LIFETIME_MS,
  type CursorState,
  createCursorCodec,
  readLimit,
} from '../../../../internal/http/resource/pages.js'
import { COMPACTED_AFTER_MS } from '../../../../internal/store/compaction.js'
import { SNAPSHOT_AGE_MS_MAX } from '../../../../internal/store/snapshot.js'
import { NOW_MS } from '../../../support/invocations.js'
import { drawn } from '../../../support/run/rings.js'

const KEY = new Uint8Array(32).fill(3)
const codec = createCursorCodec(KEY)
const STATE: CursorState = {
  tenantId: 'tnt_one',
  query: '/v1/attribution -event_time',
  lastKey: ['1793707200000', '00ff'],
  snapshotMs: NOW_MS,
}
const { tenantId, query } = STATE
const minted = codec.encode(STATE, NOW_MS)

const read = (text: string, expected: Partial<{ tenantId: string; query: string }> = {}, nowMs = NOW_MS) =>
  codec.decode(text, { tenantId, query, ...expected }, nowMs)
const codeOf = (...question: Parameters<typeof read>): string => {
  const cursor = read(...question)
  return cursor.ok ? 'ok' : cursor.problem.code
}

/** Any content, signed like a real cursor. */
function signed(content: unknown, key: Uint8Array = KEY): string {
  const payload = Buffer.from(JSON.stringify(content))
  return Buffer.concat([createHmac('sha256', key).update(payload).digest(), payload]).toString('base64url')
}

describe('a cursor', () => {
  test('decodes to the state it was encoded from', () => {
    const states = fc.record({
      tenantId: fc.string(),
      query: fc.string({ unit: 'grapheme' }),
      lastKey: fc.array(fc.string({ unit: 'grapheme' })),
      snapshotMs: fc.integer({ min: NOW_MS - SNAPSHOT_AGE_MS_MAX + 1, max: Number.MAX_SAFE_INTEGER }),
    })
    fc.assert(
      fc.property(states, (state) => {
        expect(codec.decode(codec.encode(state, NOW_MS), state, NOW_MS)).toEqual({ ok: true, state })
      }),
    )
  })

  test('needs no escaping in a URL', () => {
    expect(encodeURIComponent(minted)).toBe(minted)
  })

  test('with any character changed is rejected', () => {
    const places = fc.nat({ max: minted.length - 1 })
    const characters = fc.constantFrom(...'ABCXYZabcxyz0189-_+/=. é\n')
    fc.assert(
      fc.property(places, characters, (at, character) => {
        fc.pre(minted[at] !== character)

        expect(codeOf(minted.slice(0, at) + character + minted.slice(at + 1))).toBe('INVALID_CURSOR')
      }),
      { numRuns: drawn(2000) },
    )
  })

  test('with any bit changed is rejected', () => {
    const bytes = Buffer.from(minted, 'base64url')
    for (let bit = 0; bit < bytes.length * 8; bit++) {
      const altered = Buffer.from(bytes)
      altered[bit >> 3] = (altered[bit >> 3] ?? 0) ^ (1 << (bit & 7))

      expect(codeOf(altered.toString('base64url'))).toBe('INVALID_CURSOR')
    }
  })

  test('that is truncated or extended is rejected', () => {
    for (let length = 0; length < minted.length; length++)
      expect(codeOf(minted.slice(0, length))).toBe('INVALID_CURSOR')
    for (const more of ['A', 'AA', 'AAA', 'AAAA', '=', '==', ' ', '\n', '%3D']) {
      expect(codeOf(minted + more)).toBe('INVALID_CURSOR')
      expect(codeOf(more + minted)).toBe('INVALID_CURSOR')
    }
  })

  test('in another encoding of the same bytes is rejected', () => {
    // One byte more than a multiple of three, so that the last character has unused bits.
    const state = [0, 1, 2]
      .map((more) => ({ ...STATE, query: 'q'.repeat(more) }))
      .find((each) => codec.encode(each, NOW_MS).length % 4 === 2)
    if (state === undefined) throw new Error('no length leaves unused bits')
    const text = codec.encode(state, NOW_MS)
    const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'
    const sameBytes = text.slice(0, -1) + alphabet[alphabet.indexOf(text.slice(-1)) + 1]

    expect(Buffer.from(sameBytes, 'base64url').equals(Buffer.from(text, 'base64url'))).toBe(true)
    expect(codeOf(text, { query: state.query })).toBe('ok')
    expect(codeOf(sameBytes, { query: state.query })).toBe('INVALID_CURSOR')
    expect(codeOf(Buffer.from(text, 'base64url').toString('base64'), { query: state.query })).toBe('INVALID_CURSOR')
  })

  test('signed with another key is rejected', () => {
    const foreign = createCursorCodec(new Uint8Array(32).fill(4)).encode(STATE, NOW_MS)

    expect(codeOf(foreign)).toBe('INVALID_CURSOR')
  })

  test('of another version is rejected', () => {
    const content = (version: number) => [version, tenantId, query, STATE.lastKey, NOW_MS, NOW_MS + 1]

    expect(codeOf(signed(content(1)))).toBe('ok')
    expect(codeOf(signed(content(2)))).toBe('INVALID_CURSOR')
  })

  test.each(['', 'A', 'null', 'eyJ9', '0', 'x'.repeat(10_000)])('that the service never issued is rejected', (text) => {
    expect(codeOf(text)).toBe('INVALID_CURSOR')
  })

  test('is valid for one hour', () => {
    expect(codeOf(minted, {}, NOW_MS + CURSOR_LIFETIME_MS - 1)).toBe('ok')
    expect(codeOf(minted, {}, NOW_MS + CURSOR_LIFETIME_MS)).toBe('INVALID_CURSOR')
    expect(CURSOR_LIFETIME_MS).toBe(3_600_000)
  })

  test('expires before records of its snapshot are removed, even within the hour', () => {
    const atMs = NOW_MS + SNAPSHOT_AGE_MS_MAX - 60_000
    const late = codec.encode(STATE, atMs)

    expect(codeOf(late, {}, atMs + 59_999)).toBe('ok')
    expect(codeOf(late, {}, atMs + 60_000)).toBe('INVALID_CURSOR')
    expect(SNAPSHOT_AGE_MS_MAX + CURSOR_LIFETIME_MS).toBeLessThanOrEqual(COMPACTED_AFTER_MS)
  })

  test('of another tenant gets TENANT_MISMATCH until it expires, for any query', () => {
    const elsewhere = { tenantId: 'tnt_two' }

    expect(codeOf(minted, elsewhere)).toBe('TENANT_MISMATCH')
    expect(codeOf(minted, { ...elsewhere, query: 'another' })).toBe('TENANT_MISMATCH')
    expect(codeOf(minted, elsewhere, NOW_MS + CURSOR_LIFETIME_MS - 1)).toBe('TENANT_MISMATCH')
    expect(codeOf(minted, elsewhere, NOW_MS + CURSOR_LIFETIME_MS)).toBe('INVALID_CURSOR')
    expect(codeOf(`${minted}A`, elsewhere)).toBe('INVALID_CURSOR')
  })

  test('used with another query is rejected', () => {
    expect(codeOf(minted, { query: '/v1/attribution event_time' })).toBe('INVALID_CURSOR')
  })
})

describe('the limit parameter', () => {
  test('is 50 by default', () => {
    expect(readLimit(undefined)).toBe(50)
  })

  test.each([
    ['1', 1],
    ['9', 9],
    ['50', 50],
    ['200', 200],
  ])('can be %s', (text, limit) => {
    expect(readLimit(text)).toBe(limit)
  })

  test.each([
    '',
    '0',
    '201',
    '999',
    '1000',
    '01',
    '+5',
    '-1',
    '1.0',
    '1e2',
    ' 5',
    '5 ',
    '5\n',
    '0x5',
    '٥',
    'all',
    'NaN',
  ])('cannot be "%s"', (text) => {
    expect(readLimit(text)).toBeUndefined()
  })
})
