import fc from 'fast-check'
import { expect, test } from 'vitest'
import { TenantShares } from '../../../../internal/ingest/admission/tenant-shares.js'

/** Shares of a log with a fill that the test sets, on a clock that it moves. */
function sharesAt(fill: number) {
  const log = { fill }
  let nowMs = 0
  const refused: string[] = []
  const shares = new TenantShares(
    () => log.fill,
    () => nowMs,
    (tenantId) => refused.push(tenantId),
  )
  const pass = (ms: number): void => {
    nowMs += ms
  }
  return { shares, log, pass, refused }
}

test('a tenant that sends most of a log that fills up is refused, and the others are not', () => {
  const { shares, log, pass, refused } = sharesAt(0.6)
  for (let i = 0; i < 100; i++) {
    shares.count('flood', 100_000)
    shares.count('steady', 2_000)
    shares.count('small', 1_500)
  }
  expect(shares.refusal('flood')).toBeUndefined()

  log.fill = 0.84
  pass(200)

  expect(shares.refusal('flood')).toMatchObject({ code: 'RATE_LIMITED', retryAfterSeconds: 5 })
  expect(shares.refusal('steady')).toBeUndefined()
  expect(shares.refusal('small')).toBeUndefined()
  expect(shares.refusal('new')).toBeUndefined()
  log.fill = 0.8
  expect(shares.refusal('flood')).toBeUndefined()
  expect(refused).toEqual(['flood'])
})

test('of two tenants the larger one is refused, however little larger it is', () => {
  const { shares, pass } = sharesAt(0.84)
  shares.count('larger', 510_000)
  shares.count('smaller', 490_000)
  pass(200)

  expect(shares.refusal('larger')).toBeDefined()
  expect(shares.refusal('smaller')).toBeUndefined()
})

test('what was sent is forgotten: a refused tenant comes back, and one alone is never refused', () => {
  const { shares, log, pass } = sharesAt(0.95)
  shares.count('flood', 10_000_000)
  shares.count('steady', 50_000)
  pass(200)
  expect(shares.refusal('flood')).toBeDefined()

  for (let i = 0; i < 90; i++) {
    shares.count('steady', 50_000)
    pass(2_000)
    shares.refusal('steady')
  }
  expect(shares.refusal('flood')).toBeUndefined()
  pass(1_000_000)
  log.fill = 1
  for (let i = 0; i < 100; i++) {
    shares.count('flood', 50_000)
    pass(30)
    expect(shares.refusal('flood')).toBeUndefined()
  }
})

test('somebody may always send, and a tenant that is refused has sent more than each one that is not', () => {
  const tenant = fc.record({ name: fc.uuid(), bytes: fc.integer({ min: 2_000, max: 10_000_000 }) })
  fc.assert(
    fc.property(
      fc.uniqueArray(tenant, { minLength: 1, maxLength: 30, selector: ({ name }) => name }),
      fc.double({ min: 0.84, max: 1, noNaN: true }),
      (tenants, fill) => {
        const { shares, pass } = sharesAt(fill)
        for (const { name, bytes } of tenants) shares.count(name, bytes)
        pass(200)
        const refused = tenants.filter(({ name }) => shares.refusal(name) !== undefined)
        const others = tenants.filter((one) => !refused.includes(one))
        expect(others.length).toBeGreaterThan(0)
        for (const { bytes } of refused) for (const other of others) expect(bytes).toBeGreaterThan(other.bytes)
      },
    ),
  )
})

test('tenants that have sent equally much are not refused, however full the log is', () => {
  fc.assert(
    fc.property(fc.integer({ min: 2, max: 200 }), fc.integer({ min: 2_000, max: 10_000_000 }), (count, bytes) => {
      const { shares, pass } = sharesAt(1)
      for (let i = 0; i < count; i++) shares.count(`tenant-${i}`, bytes)
      pass(337)
      expect(shares.refusal('tenant-1')).toBeUndefined()
    }),
  )
})

test('a tenant that sends little and seldom is counted beside one that floods, whatever passed before', () => {
  const { shares, log, pass } = sharesAt(0)
  pass(3_600_000)
  log.fill = 0.6
  const seconds = (count: number): void => {
    for (let i = 0; i < count; i++) {
      shares.count('seldom', 700)
      for (let j = 0; j < 10; j++) {
        shares.count('flood', 100_000)
        pass(100)
      }
    }
  }
  seconds(30)
  log.fill = 0.84

  expect(shares.refusal('flood')).toBeDefined()
  expect(shares.refusal('seldom')).toBeUndefined()
  seconds(5)
  expect(shares.refusal('flood')).toBeDefined()
})

test('those that send as usual are not refused because many others have sent next to nothing', () => {
  const { shares, pass } = sharesAt(0.84)
  for (let i = 0; i < 500; i++) shares.count(`idle-${i}`, 300)
  for (let i = 0; i < 10; i++) shares.count(`steady-${i}`, 50_000)
  shares.count('flood', 2_000_000)
  pass(200)

  expect(shares.refusal('flood')).toBeDefined()
  for (let i = 0; i < 10; i++) expect(shares.refusal(`steady-${i}`)).toBeUndefined()
})

test('the tenants with the usual or more of the log are those that caused it, also one that is alone', () => {
  const { shares, pass } = sharesAt(0.6)
  expect(shares.largest()).toEqual([])
  shares.count('alone', 5_000)
  pass(200)
  expect(shares.largest()).toEqual(['alone'])

  shares.count('equal', 5_000 * 0.5 ** 0.01)
  shares.count('small', 100)
  pass(200)

  expect(shares.largest()).toEqual(['alone', 'equal'])
})
