import { expect, test } from 'vitest'
import { DIMENSIONS, labelShown, splitOf } from '../../../../../../internal/console/app/pages/overview/dimensions.js'
import { fieldShown } from '../../../../../../internal/console/figures/words.js'

const TAGS = [{ name: 'tags.team' }]

test('the overview is split by its dimensions and by declared tags, and by nothing else', () => {
  for (const name of Object.keys(DIMENSIONS)) expect(splitOf(name, undefined)).toBe(name)
  expect(splitOf('tags.team', TAGS)).toBe('tags.team')
  for (const stated of ['tags.colour', 'colour', 'toString', '']) expect(splitOf(stated, TAGS)).toBeNull()
})

test('whether a tag is one is not known before the declared tags are', () => {
  expect(splitOf('tags.team', undefined)).toBeUndefined()
  expect(splitOf('tags.team', [])).toBeNull()
})

test('a tag is called by its key, and calls without it are said to state none', () => {
  expect(fieldShown('tags.cost_center')).toBe('tag cost_center')
  expect(labelShown('tags.cost_center', '')).toBe('not stated')
  expect(labelShown('tags.cost_center', 'chargeback_ready')).toBe('chargeback_ready')
})
