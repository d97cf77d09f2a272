import { expect, test } from 'vitest'
import { guessByHeuristic, learnHeuristic } from '../../../../internal/inference/learning/heuristic.js'
import { CHAT, CODE, SEARCH } from './traffic.js'

const HEURISTIC = learnHeuristic([
  { principal: 'key-1', label: CHAT },
  { principal: 'key-1', label: CHAT },
  { principal: 'key-1', traceId: 't1', label: SEARCH },
  { principal: 'key-2', label: SEARCH },
  { principal: 'key-2', label: CODE },
])

test('the heuristic guesses the most frequent class of the principal, with its share', () => {
  expect(guessByHeuristic(HEURISTIC, { principal: 'key-1' })).toEqual({ label: CHAT, share: 2 / 3 })
})

test('the heuristic prefers the trace to the principal', () => {
  expect(guessByHeuristic(HEURISTIC, { principal: 'key-1', traceId: 't1' })).toEqual({ label: SEARCH, share: 1 })
  expect(guessByHeuristic(HEURISTIC, { principal: 'key-1', traceId: 't2' })?.label).toEqual(CHAT)
})

test('among equally frequent classes the heuristic guesses the first by name', () => {
  expect(guessByHeuristic(HEURISTIC, { principal: 'key-2' })?.label).toEqual(CODE)
})

test('the heuristic has no guess for an unknown principal', () => {
  expect(guessByHeuristic(HEURISTIC, { principal: 'key-3' })).toBeUndefined()
})
