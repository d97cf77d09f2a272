import { expect, test } from 'vitest'
import { explainChoice, guessOf } from '../../../../internal/attribution/records/model-explanation.js'
import { contributionsTo } from '../../../../internal/inference/learning/contributions.js'
import type { TrainingRecord } from '../../../../internal/inference/learning/examples.js'
import type { EventFacts } from '../../../../internal/inference/learning/features.js'
import type { Model } from '../../../../internal/inference/learning/model.js'
import { predict } from '../../../../internal/inference/learning/predict.js'
import { train } from '../../../../internal/inference/learning/train.js'
import { priorModel } from '../../../support/models.js'

const SEARCH = { service: 'search', owner: 'team-search' }
const CHAT = { service: 'chat', owner: 'team-chat' }

/** Search is called in Europe; chat elsewhere; otherwise the calls are alike. */
const event = (n: number, region: string): EventFacts => ({
  eventTimeMs: Date.UTC(2026, 10, 2) + n * 60_000,
  provider: 'openai',
  model: n % 2 === 0 ? 'small' : 'large',
  ingestionLayer: 'application',
  principal: 'key-1',
  inputTokens: 100 + ((n * 7919) % 900),
  outputTokens: 10 + ((n * 104_729) % 300),
  region,
})
const inEurope = (n: number): boolean => (n * 31) % 100 < 50
const records = Array.from({ length: 1_200 }, (_, n): TrainingRecord => {
  const isSearch = inEurope(n)
  const facts = event(n, isSearch ? 'eu' : 'us')
  return {
    facts,
    outcome: n % 4 === 0 ? { kind: 'unresolved' } : { kind: 'resolved', label: isSearch ? SEARCH : CHAT },
  }
})

function trained(): Model {
  const result = train(records, { seed: 1 })
  if (result.kind !== 'trained') throw new Error(`no model: ${result.kind}`)
  return result.model
}

test('the fact in which classes differ speaks most for the one it belongs to, and against the other', () => {
  const model = trained()
  const call = event(5_000, 'eu')

  const [first, ...others] = contributionsTo(model, call, SEARCH)
  const against = contributionsTo(model, call, CHAT).find(({ fact }) => fact === 'region')

  expect(predict(model, [call])[0]?.label).toEqual(SEARCH)
  expect(first).toMatchObject({ fact: 'region' })
  expect(first?.times).toBeGreaterThan(3)
  for (const { times } of others) expect(times).toBeLessThan(first?.times ?? 0)
  expect(against?.times).toBeLessThan(1 / 3)
})

test('a choice is explained in words, by at most three facts', () => {
  const { reasons, compared_with } = explainChoice(trained(), event(5_000, 'eu'), SEARCH)

  expect(reasons?.[0]?.text).toMatch(
    /^the region "eu" is [\d.]+ times likelier in calls of this service than in others$/,
  )
  expect(reasons?.length).toBeLessThanOrEqual(3)
  expect(compared_with).toMatchObject({ classes: 1, caller: 'anonymous' })
})

test('without another class there is nothing to compare with, and without weights nothing speaks', () => {
  const model = priorModel()

  expect(contributionsTo(model, event(1, 'eu'), { service: 'nobody', owner: '' })).toEqual([])
  expect(contributionsTo(model, event(1, 'eu'), SEARCH).map(({ times }) => times)).toEqual(
    Array.from({ length: 12 }, () => 1),
  )
})

test('the best guess is what the model predicts', () => {
  const [predicted] = predict(priorModel(), [event(1, 'eu')])

  expect(guessOf('mdl_1', priorModel(), event(1, 'eu')).best_guess).toEqual({
    model: 'mdl_1',
    ...SEARCH,
    probability: predicted?.probability.toFixed(4),
    unknown_probability: predicted?.unknownProbability.toFixed(4),
  })
})
