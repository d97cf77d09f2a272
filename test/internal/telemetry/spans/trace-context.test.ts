import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  contextOf,
  isWithinRatio,
  parseTraceparent,
  traceparentOf,
} from '../../../../internal/telemetry/spans/trace-context.js'

const TRACE = '0af7651916cd43dd8448eb211c80319c'
const SPAN = 'b7ad6b7169203331'

describe('a traceparent', () => {
  test('says the caller’s span, and whether it is sampled', () => {
    const context = { traceId: TRACE, spanId: SPAN }
    expect(parseTraceparent(`00-${TRACE}-${SPAN}-01`)).toEqual({ ...context, isSampled: true })
    expect(parseTraceparent(`00-${TRACE}-${SPAN}-00`)).toEqual({ ...context, isSampled: false })
    // Only the lowest bit is about sampling.
    expect(parseTraceparent(`00-${TRACE}-${SPAN}-03`)).toEqual({ ...context, isSampled: true })
    expect(parseTraceparent(`00-${TRACE}-${SPAN}-fe`)).toEqual({ ...context, isSampled: false })
    expect(parseTraceparent(traceparentOf(context))).toEqual({ ...context, isSampled: true })
  })

  test.each([
    '',
    'text',
    `00-${'0'.repeat(32)}-${SPAN}-01`,
    `00-${TRACE}-${'0'.repeat(16)}-01`,
    `00-${TRACE.toUpperCase()}-${SPAN}-01`,
    `01-${TRACE}-${SPAN}-01`,
    `00-${TRACE}-${SPAN}-01-more`,
    `00-${TRACE}-${SPAN}`,
  ])('%s is none', (text) => {
    expect(parseTraceparent(text)).toBeUndefined()
  })
})

test('ids of an event are a context if both have the form of W3C’s', () => {
  expect(contextOf(TRACE, SPAN)).toMatchObject({ traceId: TRACE, spanId: SPAN })
  for (const [traceId, spanId] of [
    [undefined, SPAN],
    [TRACE, undefined],
    ['workflow-7', SPAN],
    [TRACE, 'step-1'],
    [TRACE, SPAN.toUpperCase()],
  ]) {
    expect(contextOf(traceId, spanId)).toBeUndefined()
  }
})

describe('a share of all traces', () => {
  const traceIds = fc.stringMatching(/^[0-9a-f]{32}$/)
  const ratios = fc.double({ min: 0, max: 1, noNaN: true })

  test('of 1 has each trace, and of 0 none', () => {
    fc.assert(
      fc.property(traceIds, (traceId) => isWithinRatio(traceId, 1) && !isWithinRatio(traceId, 0)),
      { examples: [['f'.repeat(32)], ['0'.repeat(32)]] },
    )
  })

  test('has each trace that a smaller one has', () => {
    fc.assert(
      fc.property(traceIds, ratios, ratios, (traceId, one, other) => {
        const [smaller, greater] = [Math.min(one, other), Math.max(one, other)]
        return !isWithinRatio(traceId, smaller) || isWithinRatio(traceId, greater)
      }),
    )
  })

  test('is that part of evenly spread ids', () => {
    const ids = Array.from({ length: 1_000 }, (_, i) => {
      const end = Math.floor((i / 1_000) * 2 ** 52)
      return `${'a'.repeat(19)}${end.toString(16).padStart(13, '0')}`
    })
    expect(ids.filter((id) => isWithinRatio(id, 0.25))).toHaveLength(250)
  })
})
