import { describe, expect, test } from 'vitest'
import { DEFAULT_SETTINGS } from '../../../../internal/auth/tenant.js'
import { decodeGroup, encodeEntry, encodeGroup } from '../../../../internal/invocations/invocation-group.js'
import { validateInvocation } from '../../../../internal/invocations/validate-invocation.js'
import { sandboxCompany } from '../../../../internal/local/sandbox/company.js'
import { sandboxEvents } from '../../../../internal/local/sandbox/traffic.js'
import { costLimits } from '../../../../internal/valuation/cost/plausible-cost.js'
import { loadPriceBook } from '../../../../internal/valuation/cost/price-book.js'
import { priceInvocation } from '../../../../internal/valuation/cost/price-invocation.js'

const DAY_MS = 24 * 60 * 60 * 1000
/** A Friday, at noon. */
const NOW_MS = Date.UTC(2026, 10, 20, 12)

const ADMISSION = { tenantId: 'tnt_one', principal: 'key_one', receivedAtMs: NOW_MS }

const eventsOf = (seed: number, days: number, nowMs = NOW_MS) => [
  ...sandboxEvents(sandboxCompany(seed), seed, days, nowMs),
]

describe('the seed of a sandbox', () => {
  test('a seed always gives the same company with the same calls', () => {
    expect(sandboxCompany(7)).toEqual(sandboxCompany(7))
    expect(eventsOf(7, 3)).toEqual(eventsOf(7, 3))
  })

  test('another seed gives another company with other calls', () => {
    const [one, other] = [eventsOf(7, 2), eventsOf(8, 2)]
    const ids = new Set(one.map(({ event_id }) => event_id))

    expect(sandboxCompany(7)).not.toEqual(sandboxCompany(8))
    expect(other.filter(({ event_id }) => ids.has(event_id))).toEqual([])
  })

  test('a later run gives the same calls for a past day, and adds only the new ones', () => {
    const before = eventsOf(7, 2)
    const later = eventsOf(7, 4, NOW_MS + 2 * DAY_MS)

    expect(later.slice(0, before.length)).toEqual(before)
    expect(later.length).toBeGreaterThan(before.length)
  })
})

describe('the calls of a sandbox', () => {
  const events = eventsOf(1, 7)

  test('sandbox calls are all valid, and each has an id of its own', () => {
    for (const event of events) expect(validateInvocation(event, NOW_MS)).toMatchObject({ ok: true, unknownFields: 0 })
    expect(new Set(events.map(({ event_id }) => event_id)).size).toBe(events.length)
  })

  test('sandbox calls use the fields that services of their kind state', () => {
    const used = new Set(events.flatMap((event) => Object.keys(event)))

    // No sandbox service draws images, speaks or runs tools of a provider, writes to the cache have one lifetime, each
    // call is seen once, in one attempt, and stated as our own event.
    expect([...used].sort()).toEqual([
      'attributed_identity',
      'attributed_service',
      'attribution_confidence',
      'audio_input_tokens',
      'audio_output_tokens',
      'cache_write_tokens',
      'cache_write_ttl_seconds',
      'cached_input_tokens',
      'carbon_gco2e',
      'energy_wh',
      'estimated_cost_usd',
      'event_id',
      'ingestion_layer',
      'ingestion_timestamp',
      'input_tokens',
      'k8s_namespace',
      'k8s_workload',
      'latency_ms',
      'output_tokens',
      'parent_span_id',
      'provider',
      'reasoning_tokens',
      'region',
      'requested_model',
      'served_from_cache',
      'served_model',
      'service_tier',
      'tags',
      'trace_id',
      'workload_identity',
    ])
  })

  test('the costs that sandbox proxies state are plausible beside the prices of the book', () => {
    const book = loadPriceBook()
    const limits = costLimits(DEFAULT_SETTINGS)
    const stated = [1, 2, 3].flatMap((seed) => eventsOf(seed, 30)).filter((event) => 'estimated_cost_usd' in event)
    const seen = new Set(stated.map(({ requested_model }) => requested_model))

    const entries = stated.map((event) => encodeEntry({ ...ADMISSION, id: Buffer.alloc(16) }, event))
    const doubted = decodeGroup(encodeGroup(entries), 1).filter(({ invocation }) => {
      return priceInvocation(invocation, book, undefined, { limits }).details.stated_cost !== undefined
    })

    expect(seen.size).toBe(10)
    expect(doubted).toEqual([])
  })

  test('sandbox calls are in the order of their times, from midnight of the first day until now', () => {
    const times = events.map(({ ingestion_timestamp }) => Date.parse(ingestion_timestamp))

    expect(times).toEqual(times.toSorted((one, other) => one - other))
    expect(times[0]).toBeGreaterThanOrEqual(Date.UTC(2026, 10, 14))
    expect(times.at(-1)).toBeLessThanOrEqual(NOW_MS)
  })

  test('sandbox calls are more frequent on working days than at weekends, and by day than by night', () => {
    const count = (fits: (at: Date) => boolean) =>
      events.filter(({ ingestion_timestamp }) => fits(new Date(ingestion_timestamp))).length
    const ofDay = (date: number) => count((at) => at.getUTCDate() === date)

    expect(ofDay(18)).toBeGreaterThan(2 * ofDay(15))
    expect(count((at) => at.getUTCHours() === 10)).toBeGreaterThan(4 * count((at) => at.getUTCHours() === 3))
  })

  test('most sandbox calls state a service or an identity, and some state neither', () => {
    const silent = events.filter((event) => !('attributed_service' in event) && !('attributed_identity' in event))

    expect(silent.length / events.length).toBeGreaterThan(0.02)
    expect(silent.length / events.length).toBeLessThan(0.1)
  })
})
