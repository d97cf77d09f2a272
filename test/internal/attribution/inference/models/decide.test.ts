import { describe, expect, test } from 'vitest'
import { DECISIONS, decided } from '../../../../../internal/attribution/inference/models/decide.js'
import { type StoredModel, servingOf } from '../../../../../internal/attribution/inference/models/version.js'
import { at, version } from '../../../../support/models.js'

const fit = () => false
const NOW_MS = Date.parse(at(100))
const ONE = version(1, { promoted_at: at(1) })
const TWO = version(2, { promoted_at: at(2) })

/** What serves once a decision about a version is taken. */
function servedAfter(versions: readonly StoredModel[], id: string, decision: (typeof DECISIONS)[number]) {
  const one = versions.find((candidate) => candidate.id === id) as StoredModel
  const outcome = decided(one, decision, versions, NOW_MS)
  if (outcome.kind === 'gone') return 'gone'
  const { model, state } = servingOf([...versions.filter((other) => other.id !== id), outcome.version], true, fit)
  return `${model?.id} ${state}`
}

describe('a decision', () => {
  test('lets a version serve, or the one before it', () => {
    expect(servedAfter([ONE, TWO], 'mdl_1', 'promote')).toBe('mdl_1 none')
    expect(servedAfter([ONE, TWO], 'mdl_2', 'recall')).toBe('mdl_1 model_recalled')
    expect(servedAfter([ONE, { ...TWO, recalled_at: at(3) }], 'mdl_2', 'restore')).toBe('mdl_2 none')
    expect(servedAfter([ONE], 'mdl_1', 'recall')).toBe('undefined degraded_serving')
  })

  test('to promote the one that stands in for a recalled one ends the standing in', () => {
    const versions = [ONE, { ...TWO, recalled_at: at(3) }]

    expect(servedAfter(versions, 'mdl_1', 'promote')).toBe('mdl_1 none')
  })

  test('to promote a recalled one takes the recall back', () => {
    expect(servedAfter([ONE, { ...TWO, recalled_at: at(3) }], 'mdl_2', 'promote')).toBe('mdl_2 none')
  })

  test.each(DECISIONS)('to %s can be repeated: the second time changes nothing', (decision) => {
    const versions = [ONE, { ...TWO, recalled_at: at(3) }]
    const once = decided(versions[1] as StoredModel, decision, versions, NOW_MS)
    if (once.kind !== 'decided') throw new Error('refused')

    const again = decided(once.version, decision, [ONE, once.version], NOW_MS + 1)

    expect(again).toEqual(once)
  })

  test('lets no version serve whose artefact is gone', () => {
    const old = { ...TWO, artefact: null, recalled_at: at(3) }

    expect(servedAfter([ONE, old], 'mdl_2', 'promote')).toBe('gone')
    expect(servedAfter([ONE, old], 'mdl_2', 'restore')).toBe('gone')
    expect(servedAfter([ONE, old], 'mdl_2', 'recall')).toBe('mdl_1 model_recalled')
  })
})
