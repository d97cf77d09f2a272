import { expect, test } from 'vitest'
import type { EventFacts } from '../../../../internal/inference/learning/features.js'
import {
  gainInErrorsOf,
  identityLogs,
  knownLogits,
  learnKnownClasses,
} from '../../../../internal/inference/learning/known-classes.js'
import { logSumExp } from '../../../../internal/inference/learning/logistic-regression.js'
import { comparableLook, lookOf } from '../../../../internal/inference/learning/look.js'
import { seededRandom } from '../../../../internal/local/sandbox/random.js'

/** In nats an event. */
const LOST_TO_NOISE_MAX = 0.1

const statedBy = (identityHash: string | undefined): EventFacts => ({
  eventTimeMs: 0,
  provider: 'openai',
  model: 'small',
  ingestionLayer: 'application',
  principal: 'key-1',
  identityHash,
})

const ANY = [statedBy(undefined)].map((facts) => ({ ...facts, inputTokens: 1, outputTokens: 1, latencyMs: 1 }))
const LOOK = comparableLook(ANY, ANY)

test('an identity supports the classes whose events state it, by their own numbers and not by their shares', () => {
  const [ofFrequent, ofRare, anonymous] = [900, 100, 500]
  const facts = [
    ...Array<EventFacts>(ofFrequent).fill(statedBy('frequent')),
    ...Array<EventFacts>(ofRare).fill(statedBy('rare')),
    ...Array<EventFacts>(anonymous).fill(statedBy(undefined)),
  ]
  const logs = identityLogs(
    {
      facts,
      label: Uint16Array.from(facts, ({ identityHash }) => Number(identityHash === 'rare')),
      weight: new Float64Array(facts.length).fill(1),
    },
    3,
  )

  expect([...logs.keys()]).toEqual(['frequent', 'rare'])
  const [frequent, rare] = [...logs.values()] as [Float64Array, Float64Array]
  expect(frequent[0]).toBeGreaterThan(0)
  expect(frequent[1]).toBeLessThan(-2)
  expect(rare[0]).toBeLessThan(-2)
  expect(rare[1]).toBeGreaterThan(2)
  // A class of which no event states anybody is neither likelier nor less likely.
  expect([frequent[2], rare[2]]).toEqual([0, 0])
})

test('at any temperature, the mean probability of a class over the labelled events is its share of them', () => {
  const random = seededRandom('shares')
  const label = Uint16Array.from({ length: 2_000 }, () => Math.min(random.whole(0, 9), 3))
  const facts = Array.from(
    label,
    (c, i): EventFacts => ({
      ...statedBy(undefined),
      model: random.whole(0, 2) === 0 ? `model-${c}` : `model-${random.whole(0, 3)}`,
      eventTimeMs: i * 1_100_000,
    }),
  )
  const examples = { facts, label, weight: Float64Array.from(label, (_, i) => 1 + (i % 2)) }
  const total = examples.weight.reduce((sum, one) => sum + one, 0)

  for (const temperature of [0.5, 1, 2]) {
    const logits = knownLogits(
      learnKnownClasses(examples, 4, LOOK, () => temperature),
      lookOf(facts, LOOK),
    )
    for (let c = 0; c < 4; c++) {
      let [mean, share] = [0, 0]
      for (const [i, one] of label.entries()) {
        const own = Float64Array.from(logits.subarray(i * 4, (i + 1) * 4))
        const weight = (examples.weight[i] ?? 0) / total
        mean += weight * Math.exp((own[c] ?? 0) - logSumExp(own))
        share += one === c ? weight : 0
      }
      expect(mean).toBeCloseTo(share, 3)
    }
  }
})

test('classes that do not differ are hardly told apart by the hours and sizes of their few events', () => {
  const random = seededRandom('alike')
  const classes = 8
  const facts = Array.from(
    { length: 1_600 },
    (_, i): EventFacts => ({
      ...statedBy(undefined),
      model: `model-${random.whole(0, 5)}`,
      eventTimeMs: i * 1_100_000,
      inputTokens: random.whole(50, 5_000),
      outputTokens: random.whole(5, 1_000),
    }),
  )
  const label = Uint16Array.from(facts, () => random.whole(0, classes - 1))
  const count = facts.length / 2
  const taught = { facts: facts.slice(0, count), label: label.slice(0, count), weight: new Float64Array(count).fill(1) }
  const logits = knownLogits(
    learnKnownClasses(taught, classes, LOOK, () => 1),
    lookOf(facts.slice(count), LOOK),
  )

  let loss = 0
  for (let i = 0; i < count; i++) {
    const own = Float64Array.from(logits.subarray(i * classes, (i + 1) * classes))
    loss += (logSumExp(own) - (own[label[count + i] ?? 0] ?? 0)) / count
  }
  expect(loss).toBeLessThan(Math.log(classes) + LOST_TO_NOISE_MAX)
})

test('meaningful labels gain from features, and shuffled labels gain nothing, however frequent one is', () => {
  const random = seededRandom('gain')
  const count = 4_000
  const label = Uint16Array.from({ length: count }, () => Number(random.happens(0.05)))
  const facts = Array.from(label, (one): EventFacts => {
    return {
      ...statedBy(undefined),
      inputTokens: Math.round((one === 0 ? 400 : 1_600) * 2 ** (4 * random.share() - 2)),
    }
  })
  const gainOf = (labels: Uint16Array): number => {
    const part = (from: number, to: number) => ({
      facts: facts.slice(from, to),
      label: labels.slice(from, to),
      weight: new Float64Array(to - from).fill(1),
    })
    const [taught, later] = [part(0, count / 2), part(count / 2, count)]
    const rare = taught.label.reduce((sum, one) => sum + one, 0) / (count / 2)
    const known = learnKnownClasses(taught, 2, LOOK, () => 1)
    return gainInErrorsOf(known, identityLogs(taught, 2), later, Float64Array.of(1 - rare, rare))
  }

  expect(gainOf(label)).toBeGreaterThan(5)
  expect(gainOf(Uint16Array.from(label, (_, i) => label[(i * 1_237 + 11) % count] ?? 0))).toBeLessThan(2)
})
