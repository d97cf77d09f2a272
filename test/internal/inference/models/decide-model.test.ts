import { describe, expect, test } from 'vitest'
import { DECISIONS, decided } from '../../../../internal/inference/models/decide-model.js'
import { type StoredModel, servingOf } from '../../../../internal/inference/models/model-version.js'
import { at, version } from '../../../support/models.js'

const fit = () => false
const NOW_MS = Date.parse(at(100))
const ONE = version(1, { promoted_at: at(1) })
const TWO = version(2, { promoted_at: at(2) })

/** The serving version after a decision about a version. */
function servedAfter(versions: readonly StoredModel[], id: string, decision: (typeof DECISIONS)[number]) {
  const one = versions.find((candidate) => candidate.id === id) as StoredModel
  const outcome = decided(one, decision, versions, NOW_MS)
  if (outcome.kind === 'no_artefact') return 'gone'
  const { model, state } = servingOf([...versions.filter((other) => other.id !== id), outcome.version], true, fit)
  return `${model?.id} ${state}`
}

describe('a decision', () => {
  test('to promote a version makes it serve, and to recall it makes the previous one serve', () => {
    expect(servedAfter([ONE, TWO], 'mdl_1', 'promote')).toBe('mdl_1 none')
    expect(servedAfter([ONE, TWO], 'mdl_2', 'recall')).toBe('mdl_1 model_recalled')
    expect(servedAfter([ONE, { ...TWO, recalled_at: at(3) }], 'mdl_2', 'restore')).toBe('mdl_2 none')
    expect(servedAfter([ONE], 'mdl_1', 'recall')).toBe('undefined degraded_serving')
  })

  test('to promote the fallback for a recalled version makes it the chosen version', () => {
    const versions = [ONE, { ...TWO, recalled_at: at(3) }]

    expect(servedAfter(versions, 'mdl_1', 'promote')).toBe('mdl_1 none')
  })

  test('to promote a recalled version undoes the recall', () => {
    expect(servedAfter([ONE, { ...TWO, recalled_at: at(3) }], 'mdl_2', 'promote')).toBe('mdl_2 none')
  })

  test.each(DECISIONS)('to %s a version is idempotent', (decision) => {
    const versions = [ONE, { ...TWO, recalled_at: at(3) }]
    const once = decided(versions[1] as StoredModel, decision, versions, NOW_MS)
    if (once.kind !== 'decided') throw new Error('the decision was rejected')

    const again = decided(once.version, decision, [ONE, once.version], NOW_MS + 1)

    expect(again).toEqual(once)
  })

  test('to promote a version without an artefact is rejected', () => {
    const old = { ...TWO, artefact: null, recalled_at: at(3) }

    expect(servedAfter([ONE, old], 'mdl_2', 'promote')).toBe('gone')
    expect(servedAfter([ONE, old], 'mdl_2', 'restore')).toBe('gone')
    expect(servedAfter([ONE, old], 'mdl_2', 'recall')).toBe('mdl_1 model_recalled')
  })
})
