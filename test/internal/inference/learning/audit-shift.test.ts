import { expect, test } from 'vitest'
import { supportedShift } from '../../../../internal/inference/learning/audit-shift.js'
import { seededRandom } from '../../../../internal/local/sandbox/random.js'

const CLASSES = 20

/**
 * Events of which a model knows little, and whose classes are drawn as it believes, but for how often the first one
 * comes.
 */
function audited(count: number, firstIsLikelier: number) {
  const random = seededRandom(`audits ${count} ${firstIsLikelier}`)
  const logs = Array.from({ length: count }, () => {
    const weights = Float64Array.from({ length: CLASSES }, () => random.share() ** 4)
    const total = weights.reduce((sum, one) => sum + one, 0)
    return weights.map((one) => Math.log(one / total + 1e-6))
  })
  const truth = logs.map((log) => {
    const weights = log.map((one, c) => Math.exp(one) * (c === 0 ? firstIsLikelier : 1))
    let rest = random.share() * weights.reduce((sum, one) => sum + one, 0)
    return weights.findIndex((one) => {
      rest -= one
      return rest < 0
    })
  })
  return { logs, truth, columns: CLASSES }
}

test('audits that show a class more often than it was likely raise it, and by about that', () => {
  const shift = supportedShift(audited(600, 8), 1)

  const others = (shift ?? new Float64Array(CLASSES)).subarray(1)
  const mean = others.reduce((sum, one) => sum + one, 0) / others.length
  expect((shift?.[0] ?? 0) - mean).toBeGreaterThan(Math.log(4))
  expect((shift?.[0] ?? 0) - mean).toBeLessThan(Math.log(16))
})

test('audits that say what was likely anyway move hardly anything', () => {
  for (const count of [30, 100, 300]) {
    const shift = supportedShift(audited(count, 1), 1) ?? new Float64Array(CLASSES)

    expect(Math.max(...shift.map(Math.abs))).toBeLessThan(0.35)
  }
})

test('the same audits give the same shift', () => {
  expect(supportedShift(audited(200, 4), 7)).toEqual(supportedShift(audited(200, 4), 7))
})
