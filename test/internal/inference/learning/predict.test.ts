import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { EventFacts } from '../../../../internal/inference/learning/features.js'
import { ALTERNATIVES_MAX, type Model, type ModelCard } from '../../../../internal/inference/learning/model.js'
import { confidenceOf, predict } from '../../../../internal/inference/learning/predict.js'

const CLASSES = 6
const EVENT: EventFacts = {
  eventTimeMs: 0,
  provider: 'openai',
  model: 'small',
  ingestionLayer: 'application',
  principal: 'key-1',
}

/** A model with intercepts only. */
const modelOf = (
  intercepts: readonly number[],
  contextOffsets: ReadonlyMap<string, Float32Array> = new Map(),
  isPassed = true,
): Model => ({
  card: {
    classes: Array.from({ length: CLASSES }, (_, i) => ({
      service: `service-${i}`,
      owner: `owner-${i}`,
      examples: 100,
      servedShare: 0.1,
    })),
    gate: { isPassed, reasons: [] },
  } as unknown as ModelCard,
  parameters: {
    slots: new Uint32Array(0),
    weights: new Float32Array(0),
    intercepts: Float32Array.from(intercepts),
    contextOffsets,
    temperature: 1,
    openClasses: [],
    contextCounts: new Map(),
  },
})

const logits = fc.array(fc.double({ min: -8, max: 8, noNaN: true }), {
  minLength: CLASSES + 1,
  maxLength: CLASSES + 1,
})

test('a prediction has the most probable class, then the alternatives; with the unknown class they sum to 1', () => {
  fc.assert(
    fc.property(logits, (intercepts) => {
      const [prediction] = predict(modelOf(intercepts), [EVENT])
      if (prediction === undefined) throw new Error('no prediction for the event')

      const known = intercepts.slice(0, CLASSES).map(Math.fround)
      expect(known[Number(prediction.label.service.slice('service-'.length))]).toBeCloseTo(Math.max(...known), 9)
      expect(prediction.alternatives).toHaveLength(ALTERNATIVES_MAX)
      const ranked = [prediction.probability, ...prediction.alternatives.map(({ probability }) => probability)]
      expect(ranked).toEqual(ranked.toSorted((one, other) => other - one))
      expect(ranked.reduce((sum, p) => sum + p, prediction.unknownProbability)).toBeLessThanOrEqual(1 + 1e-9)
    }),
  )
})

test('confidence is at most the probability and 0.95, and below the floor unless the gate has passed', () => {
  fc.assert(
    fc.property(fc.double({ min: 0, max: 1, noNaN: true }), fc.boolean(), (probability, isPassed) => {
      const confidence = confidenceOf(probability, isPassed)

      expect(Number.isInteger(confidence)).toBe(true)
      expect(confidence).toBeLessThanOrEqual(probability * 10_000)
      expect(confidence).toBeLessThanOrEqual(isPassed ? 9_500 : 7_999)
    }),
  )
})

test('the prior of a prediction is that of the credential, else of the layer, else of all traffic', () => {
  const lift = (place: number): Float32Array =>
    Float32Array.from({ length: CLASSES + 1 }, (_, c) => (c === place ? 5 : 0))
  const model = modelOf(
    [1, 0, 0, 0, 0, 0, 0],
    new Map([
      ['anonymous\0application', lift(1)],
      ['anonymous\0application\0key-1', lift(2)],
    ]),
  )

  const services = predict(model, [EVENT, { ...EVENT, principal: 'key-2' }, { ...EVENT, ingestionLayer: 'proxy' }]).map(
    ({ label }) => label.service,
  )

  expect(services).toEqual(['service-2', 'service-1', 'service-0'])
})

test('what falls to no known class divides among the unknown and the classes that only overrides have named', () => {
  const model = modelOf([2, 1, 0, -1, 0, 0, Math.log(1 / 3)])
  const nested: Model = { ...model, parameters: { ...model.parameters, openClasses: [5] } }

  const [prediction] = predict(nested, [EVENT])

  // A quarter is none of the known classes; the open class is as likely as the rest of it.
  expect(prediction?.unknownProbability).toBeCloseTo(1 / 8, 6)
  expect(prediction?.label.service).toBe('service-0')
  expect(prediction?.alternatives.find(({ label }) => label.service === 'service-5')?.probability).toBeCloseTo(1 / 8, 6)
})
