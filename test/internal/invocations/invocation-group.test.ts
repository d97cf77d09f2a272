import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { idHex } from '../../../internal/ids/ids.js'
import {
  type Admission,
  decodeGroup,
  encodeEntry,
  encodeGroup,
  keysOfGroup,
  namesAny,
  splitIntoGroups,
} from '../../../internal/invocations/invocation-group.js'
import { type InvocationEvent, invocationEvent } from '../../../internal/invocations/invocation-schema.js'
import { validateInvocation } from '../../../internal/invocations/validate-invocation.js'
import { SERVICE_TIERS } from '../../../internal/text/call-words.js'
import { GROUP_BYTES_MAX } from '../../../streams/invocations.js'
import { idOf, NOW_MS, validEvent } from '../../support/invocations.js'
import { drawn } from '../../support/run/rings.js'

const admission: Admission = { tenantId: 'tnt_one', principal: 'key_one', id: idOf(1), receivedAtMs: NOW_MS }

const readBack = (event: InvocationEvent) => {
  const [entry] = decodeGroup(encodeGroup([encodeEntry(admission, event)]), 7)
  if (entry === undefined) throw new Error('the group is empty')
  return entry
}

const names = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 40 })
const counts = fc.nat({ max: Number.MAX_SAFE_INTEGER })
const amounts = fc.stringMatching(/^\d{1,20}(\.\d{1,18})?$/)

/** Valid events with any of the optional fields. */
const events: fc.Arbitrary<InvocationEvent> = fc
  .record(
    {
      event_id: fc.uuid().chain((id) => fc.constantFrom(id, id.toUpperCase())),
      ingestion_layer: names,
      ingestion_timestamp: fc
        .date({ min: new Date(0), max: new Date(NOW_MS), noInvalidDate: true })
        .map((date) => date.toISOString()),
      provider: names,
      requested_model: names,
      served_model: names,
      input_tokens: counts,
      output_tokens: counts,
      cached_input_tokens: counts,
      cache_write_tokens: counts,
      cache_write_ttl_seconds: counts,
      cache_write_5m_tokens: counts,
      cache_write_1h_tokens: counts,
      reasoning_tokens: counts,
      audio_input_tokens: counts,
      audio_output_tokens: counts,
      image_input_tokens: counts,
      image_output_tokens: counts,
      web_search_calls: counts,
      file_search_calls: counts,
      code_execution_calls: counts,
      billed_units: fc.constantFrom({ seconds: '12.5' }, { images: '1', pages: '2' }),
      speed: fc.constantFrom('standard', 'fast'),
      attempt: counts,
      assumptions: names,
      instrumentation: names,
      service_tier: fc.constantFrom(...SERVICE_TIERS),
      served_from_cache: fc.boolean(),
      region: names,
      estimated_cost_usd: amounts,
      latency_ms: counts,
      attributed_identity: names,
      attributed_service: names,
      trace_id: names,
      parent_span_id: names,
      attribution_confidence: fc.double({ min: 0, max: 0.95, noNaN: true }).map((value) => value + 0), // JSON has no -0
      tags: fc.dictionary(fc.stringMatching(/^[a-z_]{1,20}$/), names, { maxKeys: 16, noNullPrototype: true }),
      k8s_namespace: names,
      k8s_workload: names,
      workload_identity: names,
      energy_wh: amounts,
      carbon_gco2e: amounts,
    },
    {
      requiredKeys: ['event_id', 'ingestion_layer', 'ingestion_timestamp', 'provider', 'requested_model'],
      noNullPrototype: true,
    },
  )
  .filter((event) => validateInvocation(event, NOW_MS).ok)

/** Stands in every key and text that must not be kept. */
const MARK = 'unkept'
const marked = fc.string({ unit: 'binary' }).map((text) => MARK + text)
const markedValues = fc.letrec((tie) => ({
  value: fc.oneof(
    { maxDepth: 3 },
    marked,
    fc.constant(null),
    fc.array(tie('value'), { maxLength: 3 }),
    fc.dictionary(marked, tie('value'), { maxKeys: 3 }),
  ),
})).value
/** Names that an object or an entry has a use for. */
const awkward = fc.constantFrom('__proto__', 'toJSON', 'constructor', 'hasOwnProperty', 't', 'k', 'e', '', '0', '7')
const REQUIRED = ['event_id', 'ingestion_layer', 'ingestion_timestamp', 'provider', 'requested_model']
const FIELDS = Object.keys(invocationEvent.shape) as (keyof InvocationEvent)[]
const OPTIONAL = FIELDS.filter((field) => !REQUIRED.includes(field))

/** What may come beside an event: fields nobody knows, nulls, and fields that are written again later. */
const extras = fc.record({
  unknown: fc.array(fc.tuple(fc.oneof(marked, awkward), markedValues), { maxLength: 4 }),
  nulls: fc.subarray(OPTIONAL, { maxLength: 4 }),
  early: fc.array(fc.tuple(fc.constantFrom(...FIELDS), markedValues), { maxLength: 8 }),
})

/** `requested_model` -> `requestedModel`; the one field with another name is the event's time. */
const camelCase = (field: string): string =>
  field === 'ingestion_timestamp' ? 'eventTimeMs' : field.replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase())

describe('a group read back', () => {
  test('holds every field of the event, in its wire form and as the pipeline names it', () => {
    fc.assert(
      fc.property(events, (event) => {
        const { event: kept, invocation } = readBack(event)

        expect(kept).toEqual(event)
        const stated = Object.fromEntries(Object.entries(invocation).filter(([, value]) => value !== undefined))
        const expected = Object.entries(event).map(([field, value]) => [camelCase(field), value])
        const { cache_write_5m_tokens: short, cache_write_1h_tokens: long } = event
        const hasCounter = short !== undefined || long !== undefined
        expect(stated).toEqual({
          ...(hasCounter && { cacheWriteTokens: (short ?? 0) + (long ?? 0) }),
          ...Object.fromEntries(expected),
          eventId: event.event_id.toLowerCase(),
          eventTimeMs: Date.parse(event.ingestion_timestamp),
        })
      }),
    )
  })

  test('holds the sender of each event and its time of acceptance', () => {
    const entry = encodeEntry(
      { tenantId: 'tnt_é', principal: 'key_x', id: idOf(0xfffefdfc), receivedAtMs: NOW_MS + 1 },
      validEvent(),
    )

    const [read] = decodeGroup(encodeGroup([entry]), 7)

    expect(read).toMatchObject({ tenantId: 'tnt_é', principal: 'key_x', receivedAtMs: NOW_MS + 1 })
    expect(Buffer.from(read?.id ?? []).equals(idOf(0xfffefdfc))).toBe(true)
  })

  test('says in the log of every stage in which trace the event came, if it is sampled', () => {
    const traceparent = `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`
    const inStageA = encodeEntry({ ...admission, traceparent }, validEvent())
    const [first] = decodeGroup(encodeGroup([inStageA]), 7)
    if (first === undefined) throw new Error('the group is empty')
    const later = encodeEntry(first, first.event, first.position)

    expect(decodeGroup(encodeGroup([inStageA, later]), 7)).toMatchObject([{ traceparent }, { traceparent }])
    expect(readBack(validEvent())).not.toHaveProperty('traceparent')
  })

  test('says to later stages, and not in stage A’s log, which services the trace has', () => {
    const traceServices = ['che"ckout', 'search']
    const inStageA = encodeEntry({ ...admission, traceServices }, validEvent())
    const later = encodeEntry({ ...admission, traceServices }, validEvent(), { sequence: 3, index: 1 })

    const [first, second] = decodeGroup(encodeGroup([inStageA, later]), 7)

    expect(first).not.toHaveProperty('traceServices')
    expect(second).toMatchObject({ traceServices, position: { sequence: 3, index: 1 } })
  })

  test('holds the Idempotency-Key that an event came with, and none where none came', () => {
    const key = { hash: Buffer.alloc(16, 0xfb), fingerprint: Buffer.alloc(8, 0x1e), flags: 3 }
    const group = encodeGroup([encodeEntry({ ...admission, key }, validEvent()), encodeEntry(admission, validEvent())])

    const [withKey, without] = decodeGroup(group, 7)

    expect(withKey?.key).toEqual(key)
    expect(without?.key).toBeUndefined()
    expect(JSON.parse(group.toString())[0].k).toBe(Buffer.concat([key.hash, key.fingerprint]).toString('base64'))
  })

  test('says which keys it has, whatever its events state; one that cannot be read has none', () => {
    const key = { hash: Buffer.alloc(16, 1), fingerprint: Buffer.alloc(8, 2), flags: 3 }
    const stated = encodeEntry(admission, validEvent({ tags: { k: Buffer.alloc(24, 9).toString('base64') } }))
    const entries = [stated, encodeEntry({ ...admission, key }, validEvent())]

    expect(keysOfGroup(encodeGroup(entries))).toEqual([key])
    expect(keysOfGroup(encodeGroup(entries).subarray(1))).toEqual([])
  })

  test('keeps the key for stage A: an event passed to the next stage has none', () => {
    const key = { hash: Buffer.alloc(16, 1), fingerprint: Buffer.alloc(8, 2), flags: 0 }

    const entry = encodeEntry({ ...admission, key }, validEvent(), { sequence: 3, index: 8 })

    expect(decodeGroup(encodeGroup([entry]), 7)[0]?.key).toBeUndefined()
  })

  test('keeps the order of its entries', () => {
    const ids = [5, 3, 9, 3]

    const read = decodeGroup(encodeGroup(ids.map((id) => encodeEntry({ ...admission, id: idOf(id) }, validEvent()))), 7)

    expect(read.map(({ id }) => Buffer.from(id).readUInt32BE(4))).toEqual(ids)
  })

  test('names each of its events in its bytes, and no other, whatever they state', () => {
    const position = { sequence: 2 ** 40, index: 3 }
    fc.assert(
      fc.property(fc.array(events, { minLength: 1, maxLength: 5 }), fc.boolean(), (all, isPassedOn) => {
        const group = encodeGroup(
          all.map((event, i) => encodeEntry({ ...admission, id: idOf(i) }, event, isPassedOn ? position : undefined)),
        )
        const isNamed = (number: number) => namesAny(group, (id) => id === idHex(idOf(number)))

        expect(all.map((_, i) => isNamed(i))).toEqual(all.map(() => true))
        expect(isNamed(all.length)).toBe(false)
      }),
      { numRuns: drawn(100) },
    )
  })

  test('may be empty', () => {
    expect(decodeGroup(encodeGroup([]), 7)).toEqual([])
  })
})

describe('the position of an event', () => {
  test('is that of its message and its index in it, unless the entry states another', () => {
    const entries = [encodeEntry(admission, validEvent()), encodeEntry(admission, validEvent())]

    expect(decodeGroup(encodeGroup(entries), 7).map(({ position }) => position)).toEqual([
      { sequence: 7, index: 0 },
      { sequence: 7, index: 1 },
    ])
  })

  test('stays that of stage A when the event is passed to the next stage', () => {
    const entries = [
      encodeEntry(admission, validEvent(), { sequence: 3, index: 8 }),
      encodeEntry(admission, validEvent()),
    ]

    expect(decodeGroup(encodeGroup(entries), 7).map(({ position }) => position)).toEqual([
      { sequence: 3, index: 8 },
      { sequence: 7, index: 1 },
    ])
  })
})

describe('an entry', () => {
  test('takes the bytes of an id that is a view into larger memory', () => {
    const memory = Buffer.concat([Buffer.alloc(5, 0xff), idOf(77), Buffer.alloc(5, 0xff)])

    const entry = encodeEntry(
      { ...admission, id: new Uint8Array(memory.buffer, memory.byteOffset + 5, 16) },
      validEvent(),
    )

    expect(entry).toContain(`"i":"${Buffer.from(idOf(77)).toString('hex')}"`)
  })

  test('keeps neither nulls nor fields outside the schema', () => {
    const event = { ...validEvent(), region: null, note: 'a text', t: 'tnt_two' } as InvocationEvent

    expect(readBack(event)).toMatchObject({ tenantId: 'tnt_one', event: validEvent() })
    expect(encodeEntry(admission, event)).not.toMatch(/note|region|tnt_two/)
  })

  test('keeps exactly the schema fields, whatever other fields were sent', () => {
    fc.assert(
      fc.property(events, extras, (event, { unknown, nulls, early }) => {
        const stated = Object.entries(event)
        const empty = nulls.filter((field) => event[field] === undefined).map((field) => [field, null] as const)
        // As a producer could write it: a field twice, of which the last one counts, and nulls and more between.
        const later = new Map<string, unknown>([...stated, ...empty])
        const members = [...early.filter(([field]) => later.has(field)), ...unknown, ...later]
        const text = `{${members.map(([key, value]) => `${JSON.stringify(key)}:${JSON.stringify(value)}`).join(',')}}`
        const parsed = JSON.parse(text) as InvocationEvent

        for (const position of [undefined, { sequence: 3, index: 8 }]) {
          const entry = encodeEntry(admission, parsed, position)

          expect(entry).not.toContain(MARK)
          const { t, p, i, r, s, e, ...rest } = JSON.parse(entry) as Record<string, unknown>
          expect({ t, p, i, r, s }).toEqual({
            t: 'tnt_one',
            p: 'key_one',
            i: Buffer.from(admission.id).toString('hex'),
            r: NOW_MS,
            s: position && [3, 8],
          })
          expect(rest).toEqual({})
          expect(e).toStrictEqual(JSON.parse(JSON.stringify(event)))
          // Each once: nothing was lost in reading the text that another reader could find in it.
          expect(JSON.stringify(JSON.parse(entry))).toBe(entry)
          expect(decodeGroup(encodeGroup([entry]), 7)[0]?.event).toStrictEqual(e)
        }
      }),
      { numRuns: drawn(500) },
    )
  })

  test('has its own tenant and principal, regardless of earlier entries', () => {
    // More principals than are remembered, some of two tenants, some that need escaping.
    const senders = Array.from({ length: 3000 }, (_, i) => ({
      tenantId: `tnt_"${i % 2}`,
      principal: i % 3 === 0 ? 'key_\\shared' : `key_${i}`,
    }))

    const read = decodeGroup(
      encodeGroup([...senders, ...senders].map((sender) => encodeEntry({ ...admission, ...sender }, validEvent()))),
      7,
    )

    expect(read.map(({ tenantId, principal }) => ({ tenantId, principal }))).toEqual([...senders, ...senders])
  })

  test('keeps zeros and false, which are not absent', () => {
    const stated = { input_tokens: 0, served_from_cache: false, attribution_confidence: 0 }

    expect(readBack(validEvent(stated)).invocation).toMatchObject({
      inputTokens: 0,
      servedFromCache: false,
      attributionConfidence: 0,
    })
  })
})

describe('splitting into groups', () => {
  const bytesOf = (group: readonly string[]): number => encodeGroup(group).length
  /** An entry is any JSON text; its length is all that matters here. */
  const entryOf = (bytes: number): string => JSON.stringify('x'.repeat(bytes - 2))

  test('a group is full at exactly the limit', () => {
    const fitting = [entryOf(GROUP_BYTES_MAX - 103), entryOf(100)] // and two brackets and a comma
    const tooLong = [entryOf(GROUP_BYTES_MAX - 102), entryOf(100)]

    expect(splitIntoGroups(fitting).map(bytesOf)).toEqual([GROUP_BYTES_MAX])
    expect(splitIntoGroups(tooLong).map(bytesOf)).toEqual([GROUP_BYTES_MAX - 100, 102])
  })

  test('the limit counts bytes, not characters', () => {
    const wide = JSON.stringify('€'.repeat(GROUP_BYTES_MAX / 4))

    expect(splitIntoGroups([wide, wide]).map(({ length }) => length)).toEqual([1, 1])
  })

  test('an entry that is larger than a group travels alone', () => {
    const large = entryOf(GROUP_BYTES_MAX + 1)

    expect(splitIntoGroups(['1', large, '2']).map(bytesOf)).toEqual([3, GROUP_BYTES_MAX + 3, 3])
  })

  test('an empty list makes no group', () => {
    expect(splitIntoGroups([])).toEqual([])
  })

  test('all entries are kept, in order, and no group could have taken the next entry', () => {
    const sizes = fc.array(fc.oneof(fc.integer({ min: 2, max: 2_000 }), fc.integer({ min: 2, max: GROUP_BYTES_MAX })), {
      maxLength: 12,
    })
    fc.assert(
      fc.property(sizes, (wanted) => {
        const entries = wanted.map(entryOf)

        const groups = splitIntoGroups(entries)

        expect(groups.flat().every((entry, i) => entry === entries[i]) && groups.flat().length === entries.length).toBe(
          true,
        )
        for (const [i, group] of groups.entries()) {
          const next = groups[i + 1]?.[0]
          expect(bytesOf(group)).toBeLessThanOrEqual(Math.max(GROUP_BYTES_MAX, bytesOf(group.slice(0, 1))))
          if (next !== undefined) expect(bytesOf([...group, next])).toBeGreaterThan(GROUP_BYTES_MAX)
        }
      }),
      { numRuns: drawn(30) },
    )
  })
})

describe('poison', () => {
  const entry = JSON.parse(encodeEntry(admission, validEvent())) as Record<string, unknown>

  test.each([
    ['', 'no bytes'],
    ['[', 'half a group'],
    ['null', 'null'],
    ['{}', 'an object'],
    ['[null]', 'no entry'],
    ['[1]', 'a number for an entry'],
    ['[{}]', 'an empty entry'],
  ])('"%s" is no group (%s)', (text) => {
    expect(() => decodeGroup(Buffer.from(text), 7)).toThrow(Error)
  })

  test.each([
    ['t', undefined],
    ['t', 1],
    ['p', undefined],
    ['p', 1],
    ['i', undefined],
    ['i', ''],
    ['i', '00'.repeat(15)],
    ['i', 'zz'.repeat(16)],
    ['r', undefined],
    ['r', 'now'],
    ['r', 1.5],
    ['w', 1],
    ['s', [1]],
    ['s', 'x'],
    ['k', null],
    ['k', 1],
    ['k', 'A'.repeat(31)],
    ['k', 'A'.repeat(33)],
    ['k', `${'A'.repeat(31)}-`],
    ['k', `${'A'.repeat(31)}=`],
    ['f', 'x'],
    ['f', -1],
    ['f', 256],
    ['e', undefined],
    ['e', { ...validEvent(), event_id: undefined }],
    ['e', { ...validEvent(), ingestion_timestamp: 'now' }],
  ])('an entry whose %s is %j cannot be handled, and is not taken for one that can', (member, value) => {
    const group = Buffer.from(JSON.stringify([{ ...entry, [member]: value }]))

    expect(() => decodeGroup(group, 7)).toThrow(Error)
  })
})

test('a total of cache writes that is not stated is the sum of the two counters', () => {
  const writes = (stated: Partial<InvocationEvent>) => readBack(validEvent(stated)).invocation.cacheWriteTokens

  expect(writes({ cache_write_5m_tokens: 3, cache_write_1h_tokens: 4 })).toBe(7)
  expect(writes({ cache_write_1h_tokens: 4 })).toBe(4)
  expect(writes({ cache_write_tokens: 9, cache_write_1h_tokens: 4 })).toBe(9)
  expect(writes({})).toBeUndefined()
})
