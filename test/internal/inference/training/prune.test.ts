import { expect, test } from 'vitest'
import { keptVersions } from '../../../../internal/inference/training/prune.js'
import { at, CARD, version } from '../../../support/models.js'

test('the newest versions keep their artefacts, and so do older ones that serve or may have to', () => {
  const promoted = [1, 2, 3, 4, 5].map((number) => version(number, { promoted_at: at(number) }))
  const candidates = Array.from({ length: 30 }, (_, i) => version(100 + i))

  const { artefacts, cards } = keptVersions([...candidates, ...promoted])

  const newest = Array.from({ length: 10 }, (_, i) => `mdl_${120 + i}`)
  expect([...artefacts].sort()).toEqual([...newest, 'mdl_1', 'mdl_2', 'mdl_3', 'mdl_4', 'mdl_5'].sort())
  expect(cards.size).toBe(35)
})

test('a version that has not passed validation is not kept as a fallback for a recall', () => {
  const card = { ...CARD, gate: { isPassed: false, reasons: ['miscalibrated'] } } as const
  // Too large to be kept for the records that cite them.
  const artefact = { object: 'model', sha256: '0'.repeat(64), bytes: 2 ** 30 }
  const unpassed = [2, 3, 4].map((number) => version(number, { promoted_at: at(number), card, artefact }))
  const passed = [1, 5].map((number) => version(number, { promoted_at: at(number) }))
  const candidates = Array.from({ length: 10 }, (_, i) => version(100 + i))

  const { artefacts } = keptVersions([...candidates, ...unpassed, ...passed])

  expect([...artefacts].filter((id) => id.length === 5).sort()).toEqual(['mdl_1', 'mdl_5'])
})

test('of versions that only records cite, the newest keep half a gigabyte of artefacts', () => {
  const large = { object: 'model', sha256: '0'.repeat(64), bytes: 200 * 1024 * 1024 }
  const promoted = [1, 2, 3, 4, 5, 6, 7, 8].map((number) =>
    version(number, { promoted_at: at(number), artefact: large }),
  )
  const candidates = Array.from({ length: 10 }, (_, i) => version(100 + i))

  const { artefacts } = keptVersions([...candidates, ...promoted])

  // Four may have to serve; of these and the others two fit.
  expect([...artefacts].filter((id) => id.length === 5).sort()).toEqual(['mdl_5', 'mdl_6', 'mdl_7', 'mdl_8'])
})

test('model cards are kept longer than artefacts, but not forever', () => {
  const versions = Array.from({ length: 1_000 }, (_, i) => version(i, i === 0 ? { promoted_at: at(0) } : {}))

  const { artefacts, cards } = keptVersions(versions)

  expect(cards.size).toBe(401)
  expect(cards.has('mdl_0') && artefacts.has('mdl_0')).toBe(true)
  expect([...artefacts].every((id) => cards.has(id))).toBe(true)
})
