import { describe, expect, test } from 'vitest'
import { encodeModel } from '../../../../internal/inference/learning/artefact.js'
import type { TrainingRecord } from '../../../../internal/inference/learning/examples.js'
import type { Model, Prediction } from '../../../../internal/inference/learning/model.js'
import { predict } from '../../../../internal/inference/learning/predict.js'
import { train } from '../../../../internal/inference/learning/train.js'
import { seededRandom } from '../../../../internal/local/sandbox/random.js'
import { CHAT, CODE, recordsOf, SHADOW, type TrafficEvent, traffic } from './traffic.js'

const FLOOR = 8_000

function trained(records: readonly TrainingRecord[], seed = 1): Model {
  const result = train(records, { seed })
  if (result.kind !== 'trained') throw new Error('training found too few examples')
  return result.model
}

/** The model's predictions for later unlabelled events, compared with the truth. */
function judged(model: Model, later: readonly TrafficEvent[]) {
  const unlabelled = later.filter(({ isLabelled }) => !isLabelled)
  const predictions = predict(
    model,
    unlabelled.map(({ facts }) => facts),
  )
  return unlabelled.map(({ truth }, i) => ({ ...(predictions[i] as Prediction), truth }))
}

const isRight = ({ label, truth }: ReturnType<typeof judged>[number]): boolean => label.service === truth.service
const share = <T>(list: readonly T[], is: (one: T) => boolean): number => list.filter(is).length / list.length

test('training with the same records and seed gives the same bytes', () => {
  const records = recordsOf(traffic(2_000, 'same'))

  expect(encodeModel(trained(records))).toEqual(encodeModel(trained(records)))
})

test('a trained model finds the mix of services in unlabelled traffic and is calibrated there', () => {
  const model = trained(recordsOf(traffic(4_000, 'shift')))
  const events = judged(model, traffic(2_000, 'shift later'))

  const ofChat = model.card.classes.find(({ service }) => service === CHAT.service)
  // 15 % of the unlabelled traffic, 70 % of the labelled.
  expect(ofChat?.servedShare).toBeGreaterThan(0.1)
  expect(ofChat?.servedShare).toBeLessThan(0.2)
  expect(share(events, isRight)).toBeGreaterThan(0.85)
  const ready = events.filter(({ confidence }) => confidence >= FLOOR)
  expect(ready.length / events.length).toBeGreaterThan(0.4)
  expect(share(ready, isRight)).toBeGreaterThan(0.9)
  expect(model.card.gate).toEqual({ isPassed: true, reasons: [] })
})

describe('a service that is never labelled', () => {
  const history = traffic(4_000, 'shadow', { withShadow: true })
  const later = traffic(2_000, 'shadow later', { withShadow: true })
  const ofShadow = (events: ReturnType<typeof judged>) => events.filter(({ truth }) => truth === SHADOW)

  test('is not predicted to be another service', () => {
    const model = trained(recordsOf(history))
    const shadow = ofShadow(judged(model, later))

    // Its share is a third of the unlabelled traffic.
    expect(model.card.unknownShare).toBeGreaterThan(0.2)
    expect(share(shadow, ({ confidence }) => confidence >= FLOOR)).toBeLessThan(0.03)
  })

  test('becomes a class once some of its events have overrides', () => {
    const model = trained(recordsOf(history, (i) => i % 20 === 0))
    const shadow = ofShadow(judged(model, later))

    expect(share(shadow, isRight)).toBeGreaterThan(0.8)
    expect(model.card.unknownShare).toBeLessThan(0.1)
  })
})

test('a model trained on random labels fails the gate, and none of its predictions reaches the floor', () => {
  const random = seededRandom('permuted')
  const events = traffic(4_000, 'permuted')
  const labels = events.filter(({ isLabelled }) => isLabelled).map(({ truth }) => truth)
  for (let i = labels.length - 1; i > 0; i--) {
    const j = random.whole(0, i)
    ;[labels[i], labels[j]] = [labels[j] as typeof CHAT, labels[i] as typeof CHAT]
  }
  const permuted = events.map((event) => (event.isLabelled ? { ...event, truth: labels.pop() as typeof CHAT } : event))

  const model = trained(recordsOf(permuted))

  expect(model.card.gate.isPassed).toBe(false)
  const later = judged(model, traffic(2_000, 'permuted later'))
  expect(share(later, ({ confidence }) => confidence >= FLOOR)).toBe(0)
})

test('a service that is new late in the window has the share of the unlabelled traffic since then', () => {
  const count = 5_000
  const events = traffic(count, 'new').filter(({ truth }, i) => truth !== CODE || i > 0.88 * count)

  const { classes } = trained(recordsOf(events)).card

  // Since then it has 30 % of the unlabelled traffic, and 4 % of that of the whole window.
  const ofCode = classes.find(({ service }) => service === CODE.service)
  expect(ofCode?.servedShare).toBeGreaterThan(0.15)
  expect(ofCode?.servedShare).toBeLessThan(0.4)
})

test('a dispute moves an event out of the disputed class', () => {
  const events = traffic(3_000, 'dispute', { withShadow: true })
  const records = recordsOf(events)
  const mistaken = events.map(({ truth, isLabelled }) => truth === SHADOW && !isLabelled)
  const disputed = records.map((record, i): TrainingRecord => {
    return mistaken[i] === true && i % 2 === 0 ? { ...record, outcome: { kind: 'dispute', against: CHAT } } : record
  })

  const [before, after] = [trained(records), trained(disputed)]

  expect(after.card.examples.disputes).toBeGreaterThan(100)
  const sharesOf = ({ card }: Model) => card.classes.find(({ service }) => service === CHAT.service)?.servedShare ?? 0
  expect(sharesOf(after)).toBeLessThanOrEqual(sharesOf(before))
})

test('one class is learned where calls of others are too few to be classes', () => {
  const events = traffic(2_000, 'one')
  const records = recordsOf(events).filter(({ outcome }, i) => {
    return outcome.kind === 'unresolved' || events[i]?.truth === CHAT || i < 40
  })

  expect(trained(records).card.classes.map(({ service }) => service)).toEqual([CHAT.service])
})

test('training on too few examples gives no model', () => {
  const events = traffic(4_000, 'few')

  expect(train([], { seed: 1 })).toEqual({ kind: 'too_few_examples', classes: 0, examples: 0 })
  expect(train(recordsOf(events.filter(({ isLabelled }) => isLabelled)), { seed: 1 }).kind).toBe('too_few_examples')
  expect(train(recordsOf(events.filter(({ truth }) => truth === CHAT)), { seed: 1 })).toMatchObject({ classes: 1 })
})
