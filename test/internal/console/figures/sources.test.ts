import type { Source } from 'attribution-service/sdk/api'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { whyPassedOver } from '../../../../internal/console/figures/coverage.js'
import { arrivalsByKey, lightOf, nobodysKeyShown, wayShown } from '../../../../internal/console/figures/sources.js'

const NONE = { count: 0, reasons: [] }
const at = (seconds: number): string => new Date(Date.UTC(2026, 10, 29) + seconds * 1_000).toISOString()

const source = (stated: Partial<Source> = {}): Source => ({
  credential: 'key_own',
  credential_name: null,
  intake: 'litellm',
  sender: 'litellm',
  versions: [],
  services: [],
  last_received_at: null,
  last_call_at: null,
  last_record: null,
  received: 0,
  calls: 0,
  merged: 0,
  passed_over: NONE,
  rejected: NONE,
  refused_requests: NONE,
  unpriced: 0,
  without_service: 0,
  perhaps_twice: 0,
  lacks: [],
  field_names: [],
  advice: [],
  ...stated,
})
/** A source whose last call came some seconds after midnight. */
const called = (seconds: number, stated: Partial<Source> = {}): Source =>
  source({
    last_received_at: at(seconds),
    last_call_at: at(seconds),
    last_record: { id: `attr_${seconds}`, received_at: at(seconds) },
    ...stated,
  })

const OF_LITELLM = { credential: undefined, intake: 'litellm' }

describe('the light', () => {
  test('turns on with the first call, and opens that call', () => {
    const light = lightOf([], [called(5)], OF_LITELLM)

    expect(light).toEqual({ kind: 'seen', call: { id: 'attr_5', atMs: Date.parse(at(5)) } })
  })

  test('waits for the record of a call that has arrived', () => {
    expect(lightOf([called(1)], [called(5, { last_record: called(1).last_record })], OF_LITELLM).kind).toBe('arrived')
  })

  test('says why what came became no call', () => {
    const reasons = (count: number) => ({
      count,
      reasons: [{ reason: 'malformed', service: null, count, last_at: at(1) }],
    })
    const before = called(1, { rejected: reasons(3), merged: 7 })
    const now = called(1, { last_received_at: at(9), rejected: reasons(5), merged: 8 })

    expect(lightOf([before], [now], OF_LITELLM)).toEqual({
      kind: 'no_call',
      why: [
        { reason: 'malformed', count: 2 },
        { reason: 'repeated', count: 1 },
      ],
    })
  })

  test('stays off for one key while another of the same client sends', () => {
    const other = called(5, { credential: 'key_other' })

    expect(lightOf([], [other], { ...OF_LITELLM, credential: 'key_own' })).toEqual({ kind: 'waiting', last: undefined })
    expect(lightOf([], [other, called(7)], { ...OF_LITELLM, credential: 'key_own' })).toMatchObject({
      call: { id: 'attr_7' },
    })
  })

  test('of a client that shares an intake stays off for the others there', () => {
    const claudeCode = { credential: undefined, intake: 'otlp', sender: /claude_code/ }
    const of = (sender: string | null) => called(5, { intake: 'otlp', sender })

    expect(lightOf([], [of('openai'), of(null)], claudeCode).kind).toBe('waiting')
    expect(lightOf([], [of('com.anthropic.claude_code.events')], claudeCode).kind).toBe('seen')
  })

  test('stays off while nothing of its own comes, whatever others send and however often a record is attributed', () => {
    const rows = fc.array(
      fc
        .record({ of: fc.constantFrom('otlp', 'kong', 'api'), seconds: fc.nat(60) })
        .map(({ of, seconds }) => called(seconds, { intake: of, calls: seconds })),
    )
    const own = fc.option(fc.nat(60)).map((seconds) => (seconds === null ? [] : [called(seconds)]))
    fc.assert(
      fc.property(rows, rows, own, (before, now, mine) => {
        expect(lightOf([...before, ...mine], [...mine, ...now], OF_LITELLM).kind).toBe('waiting')
      }),
    )
  })
})

test('calls come through the API or another intake, and from the program that says which it is', () => {
  expect(wayShown({ intake: 'otlp', sender: '@traceloop/instrumentation-openai' })).toBe(
    'otlp: @traceloop/instrumentation-openai',
  )
  expect(wayShown({ intake: 'kong', sender: null })).toBe('kong')
  expect(wayShown({ intake: 'api', sender: null })).toBe('the API')
})

test('senders that are counted together are no program, and not of people', () => {
  expect(wayShown({ intake: 'otlp', sender: 'other' })).toBe('otlp: other senders')
  expect(nobodysKeyShown({ sender: 'other' })).toBe('several')
  expect(nobodysKeyShown({ sender: null })).toBe('people’s sign-ins')
})

test('a key has the calls of all its senders', () => {
  const arrivals = arrivalsByKey([
    called(5, { calls: 2 }),
    called(9, { intake: 'otlp', calls: 3 }),
    source({ credential: 'key_quiet' }),
    called(1, { credential: null }),
  ])

  expect([...arrivals]).toEqual([
    ['key_own', { calls: 5, lastCallAtMs: Date.parse(at(9)) }],
    ['key_quiet', { calls: 0, lastCallAtMs: undefined }],
  ])
})

test.each([
  ['malformed', 'cannot be read as an event'],
  ['invalid_input_tokens', 'the field input_tokens is missing, not valid or not allowed'],
  ['of_a_later_version', 'of a later version'],
])('%s is said as: %s', (reason, words) => {
  expect(whyPassedOver(reason)).toBe(words)
})
