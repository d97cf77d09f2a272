import { expect, test } from 'vitest'
import {
  dueTraining,
  type FinishedTraining,
  finished,
  type StoredTraining,
  type TrainingRequest,
} from '../../../../internal/inference/training/training.js'

const NOON_MS = Date.UTC(2026, 10, 3, 12)
const DAY_MS = 24 * 60 * 60 * 1000
const at = (ms: number): string => new Date(ms).toISOString()
const request = (id: string): TrainingRequest => ({ id, requested_at: at(NOON_MS), seed: 9, promote: false })
const last = (outcome: FinishedTraining['outcome'], finishedMs: number): FinishedTraining => ({
  id: 'before',
  outcome,
  model_id: null,
  finished_at: at(finishedMs),
})
const training = (stated: Partial<StoredTraining> = {}): StoredTraining => ({
  tenant_id: 'tnt_one',
  requested: null,
  last: null,
  ...stated,
})

test('a first training of a tenant is due at once, and the next one after the interval', () => {
  expect(dueTraining(undefined, NOON_MS, DAY_MS)).toMatchObject({ id: 'scheduled first', seed: 1, promote: true })
  const trained = training({ last: last('promoted', NOON_MS) })
  expect(dueTraining(trained, NOON_MS + DAY_MS - 1, DAY_MS)).toBeUndefined()
  expect(dueTraining(trained, NOON_MS + DAY_MS, DAY_MS)).toMatchObject({ id: `scheduled ${at(NOON_MS)}` })
})

test.each(['too_few_examples', 'failed'] as const)('a training is due sooner after "%s"', (outcome) => {
  const tried = training({ last: last(outcome, NOON_MS) })
  expect(dueTraining(tried, NOON_MS + DAY_MS / 12 - 1, DAY_MS)).toBeUndefined()
  expect(dueTraining(tried, NOON_MS + DAY_MS / 12, DAY_MS)).toBeDefined()
})

test('a requested training runs as requested, no matter when the last one finished', () => {
  const asked = training({ requested: request('asked'), last: last('promoted', NOON_MS) })
  expect(dueTraining(asked, NOON_MS, DAY_MS)).toEqual(request('asked'))
})

test('a finished training removes its own request, but not a later one', () => {
  const done = { ...last('promoted', NOON_MS), id: 'asked' }
  expect(finished(training({ requested: request('asked') }), done)).toEqual(training({ last: done }))
  const since = training({ requested: request('another') })
  expect(finished(since, done)).toEqual({ ...since, last: done })
})
