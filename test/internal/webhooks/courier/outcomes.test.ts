import { expect, test } from 'vitest'
import { RETRY_MAXIMA_MS, RETRY_STOP_MS } from '../../../../internal/config/webhook-retries.js'
import { park } from '../../../../internal/webhooks/courier/outcomes.js'
import { type Delivery, newDelivery } from '../../../../internal/webhooks/delivery.js'

const NOW_MS = Date.parse('2026-11-21T09:30:00Z')
const deps = (nowMs: number) => ({
  rules: { maximaMs: RETRY_MAXIMA_MS, stopMs: RETRY_STOP_MS },
  clock: () => nowMs,
  random: () => 1,
})
const delivery = (more: Partial<Delivery> = {}): Delivery => ({
  ...newDelivery({
    id: 'dlv_1',
    tenantId: 'tnt_one',
    endpointId: 'whk_1',
    eventId: 'evt_1',
    type: 'apikey.rotated',
    sequence: 1,
    isReplayed: false,
    body: new Uint8Array(0),
  }),
  ...more,
})

test('the retry period of a delivery does not start while it is parked before its first attempt', () => {
  const first = park(delivery(), deps(NOW_MS))
  const next = park(delivery({ parks: 1, parkedAtMs: NOW_MS }), deps(NOW_MS + RETRY_STOP_MS + 1))

  expect(first).toMatchObject({ kind: 'again', delivery: { parks: 1, startedAtMs: undefined, parkedAtMs: NOW_MS } })
  expect(next).toMatchObject({ kind: 'again', delivery: { parks: 2, startedAtMs: undefined, parkedAtMs: NOW_MS } })
})

test('a delivery that was never attempted is dead-lettered in the end', () => {
  const parked = delivery({ parks: 900, parkedAtMs: NOW_MS })
  const endMs = NOW_MS + 3 * RETRY_STOP_MS

  expect(park(parked, deps(endMs)).kind).toBe('again')
  expect(park(parked, deps(endMs + 1))).toMatchObject({ kind: 'dead_lettered', record: { reason: 'expired' } })
})

test('an attempted delivery is parked until its retry period ends, and then dead-lettered', () => {
  const tried = delivery({ attempts: 3, startedAtMs: NOW_MS })
  const stopMs = NOW_MS + RETRY_STOP_MS

  expect(park(tried, deps(stopMs))).toMatchObject({
    kind: 'again',
    delivery: { attempts: 3, parks: 1, startedAtMs: NOW_MS, parkedAtMs: undefined },
  })
  expect(park(tried, deps(stopMs + 1))).toMatchObject({
    kind: 'dead_lettered',
    record: { attempt: 4, reason: 'expired', nextAttemptAtMs: null },
  })
})
