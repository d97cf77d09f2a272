import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  candidateOf,
  chosenVersion,
  promoted,
  type StoredModel,
  servingOf,
  statusOf,
} from '../../../../internal/inference/models/model-version.js'
import { at, CARD, version } from '../../../support/models.js'

const fit = () => false
const UNPASSED = { ...CARD, gate: { isPassed: false, reasons: ['miscalibrated'] } } as const
const idOf = ({ model, state }: ReturnType<typeof servingOf>) => ({ id: model?.id, state })

describe('the serving version of a tenant', () => {
  test('is the last promoted version, in any order of versions', () => {
    const versions = [version(1, { promoted_at: at(1) }), version(3), version(2, { promoted_at: at(5) })]

    for (const order of [versions, versions.toReversed()]) {
      expect(idOf(servingOf(order, true, fit))).toEqual({ id: 'mdl_2', state: 'none' })
    }
  })

  test('is none when it was withdrawn, even if older versions passed; promoting it again makes it serve', () => {
    const withdrawn = { at: at(4), scored: 200, precision: 0.5, at_most: 0.6, from: at(3), classes: [] }
    const last = version(2, { promoted_at: at(3), withdrawn })
    const versions = [version(1, { promoted_at: at(1) }), last]

    expect(idOf(servingOf(versions, true, fit))).toEqual({ id: undefined, state: 'degraded_serving' })
    expect(statusOf(last, chosenVersion(versions))).toBe('withdrawn')

    const again = promoted(last, versions, Date.parse(at(9)))
    expect(idOf(servingOf([version(1, { promoted_at: at(1) }), again], true, fit))).toEqual({
      id: 'mdl_2',
      state: 'none',
    })
  })

  test('is undefined when no version was promoted: the baseline serves', () => {
    expect(idOf(servingOf([], true, fit))).toEqual({ id: undefined, state: 'degraded_serving' })
    expect(idOf(servingOf([version(1)], true, fit))).toEqual({ id: undefined, state: 'degraded_serving' })
  })

  test('is the previous version after a recall, with the state model_recalled', () => {
    const versions = [version(1, { promoted_at: at(1) }), version(2, { promoted_at: at(2), recalled_at: at(3) })]

    expect(idOf(servingOf(versions, true, fit))).toEqual({ id: 'mdl_1', state: 'model_recalled' })
  })

  test('is, after a recall, the last previous version that has passed validation, else the baseline serves', () => {
    const recalled = version(3, { promoted_at: at(3), recalled_at: at(4) })
    const unpassed = version(2, { promoted_at: at(2), card: UNPASSED })

    expect(idOf(servingOf([unpassed, recalled], true, fit))).toEqual({ id: undefined, state: 'degraded_serving' })
    expect(idOf(servingOf([version(1, { promoted_at: at(1) }), unpassed, recalled], true, fit))).toEqual({
      id: 'mdl_1',
      state: 'model_recalled',
    })
    expect(chosenVersion([unpassed, recalled])).toBeUndefined()
  })

  test('can be a version that has not passed validation if an admin promoted it, also after a recall', () => {
    const versions = [
      version(1, { promoted_at: at(1) }),
      version(2, { promoted_at: at(2), recalled_at: at(3) }),
      version(3, { promoted_at: at(4), card: UNPASSED }),
    ]

    expect(idOf(servingOf(versions, true, fit))).toEqual({ id: 'mdl_3', state: 'none' })
  })

  test('is the version promoted after a recall, and the state is no longer model_recalled', () => {
    const versions = [
      version(1, { promoted_at: at(1) }),
      version(2, { promoted_at: at(2), recalled_at: at(3) }),
      version(3, { promoted_at: at(4) }),
    ]

    expect(idOf(servingOf(versions, true, fit))).toEqual({ id: 'mdl_3', state: 'none' })
  })

  test('is unchanged when another version is recalled', () => {
    const versions = [
      version(1, { promoted_at: at(1), recalled_at: at(9) }),
      version(2, { promoted_at: at(2) }),
      version(3, { recalled_at: at(9) }),
    ]

    expect(idOf(servingOf(versions, true, fit))).toEqual({ id: 'mdl_2', state: 'none' })
  })

  test('is undefined when all promoted versions are recalled', () => {
    const versions = [version(1, { promoted_at: at(1), recalled_at: at(3) })]

    expect(idOf(servingOf(versions, true, fit))).toEqual({ id: undefined, state: 'degraded_serving' })
  })

  test('is undefined when the chosen version is unfit: the baseline serves, not an older version', () => {
    const versions = [version(1, { promoted_at: at(1) }), version(2, { promoted_at: at(2) })]
    const isUnfit = ({ id }: StoredModel) => id === 'mdl_2'

    expect(idOf(servingOf(versions, true, isUnfit))).toEqual({ id: undefined, state: 'degraded_serving' })
  })

  test('is undefined when the tenant has disabled inference', () => {
    const versions = [version(1, { promoted_at: at(1) }), version(2, { promoted_at: at(2), recalled_at: at(3) })]

    expect(idOf(servingOf(versions, false, fit))).toEqual({ id: undefined, state: 'disabled' })
  })
})

describe('a promoted version', () => {
  test('serves, even if the clock that promoted the previous version was ahead', () => {
    const facts = fc.record({
      promoted: fc.option(fc.integer({ min: 0, max: 100 }), { nil: undefined }),
      recalled: fc.boolean(),
    })
    fc.assert(
      fc.property(
        fc.array(facts, { minLength: 1, maxLength: 8 }),
        fc.nat(),
        fc.integer({ min: 0, max: 100 }),
        (all, pick, now) => {
          const versions = all.map(({ promoted: by, recalled }, i) =>
            version(i, { promoted_at: by === undefined ? null : at(by), recalled_at: recalled ? at(50) : null }),
          )
          const wanted = versions[pick % versions.length] as StoredModel

          const after = promoted(wanted, versions, Date.parse(at(now)))

          const others = versions.filter(({ id }) => id !== wanted.id)
          expect(idOf(servingOf([...others, after], true, fit))).toEqual({ id: wanted.id, state: 'none' })
        },
      ),
    )
  })
})

test('each model version has one status', () => {
  const versions = [
    version(1, { promoted_at: at(1) }),
    version(2, { promoted_at: at(2) }),
    version(3),
    version(4, { promoted_at: at(4), recalled_at: at(5) }),
  ]
  const chosen = chosenVersion(versions)

  expect(versions.map((one) => statusOf(one, chosen))).toEqual(['previous', 'serving', 'candidate', 'recalled'])
})

test('the candidate is the newest version after the serving one that was never promoted or recalled', () => {
  const serving = version(2, { promoted_at: at(2) })

  expect(candidateOf([version(1), serving], serving)).toBeUndefined()
  expect(candidateOf([version(3), serving, version(5), version(4)], serving)?.id).toBe('mdl_5')
  expect(candidateOf([version(3), serving, version(5, { recalled_at: at(6) })], serving)?.id).toBe('mdl_3')
})
