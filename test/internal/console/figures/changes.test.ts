import { expect, test } from 'vitest'
import {
  type Changes,
  filtersOfMover,
  isNobody,
  linesOf,
  type Mover,
  restLabel,
  volumeOfParts,
} from '../../../../internal/console/figures/changes.js'
import { signedShown } from '../../../../internal/console/figures/shown.js'

const part = (change: string) => ({
  change_usd: change,
  effects: { volume_usd: change, size_usd: '0', price_usd: '0' },
  now: { cost_usd: '9', calls: 1, tokens: 1, unpriced_calls: 0 },
  before: { cost_usd: '1', calls: 1, tokens: 1, unpriced_calls: 0 },
})
const mover = (service: string, change: string): Mover => ({
  service,
  unattributed: false,
  compared: 'both',
  ...part(change),
})
const CHANGES = {
  whole: {
    ...part('7'),
    effects: { volume_usd: '-3', mix_usd: '10', size_usd: '0', price_usd: '0' },
    change_percent: null,
  },
  increases: [mover('most', '9'), mover('more', '4')],
  decreases: [mover('least', '-5'), mover('less', '-1')],
  others: { groups: 2, ...part('-2') },
  rest: { ...part('2'), has_unread_groups: false },
  explains_most: null,
  report: { from: '', to: '', group_by: ['service'], compared_with: { from: '', to: '' }, min_cohort: 5, as_of: '' },
} satisfies Changes

test('what rose comes first, what fell most comes last of the groups, and then what is not named', () => {
  expect(linesOf(CHANGES).map(({ kind, mover: named, change_usd }) => [named?.service ?? kind, change_usd])).toEqual([
    ['most', '9'],
    ['more', '4'],
    ['less', '-1'],
    ['least', '-5'],
    ['others', '-2'],
    ['rest', '2'],
  ])
  expect(linesOf({ ...CHANGES, others: { ...CHANGES.others, groups: 0 }, rest: null })).toHaveLength(4)
  expect(volumeOfParts(CHANGES)).toBe('7')
})

test('the last line says whether it has more than small groups', () => {
  expect(restLabel(CHANGES)).toBe('small groups')
  expect(restLabel({ rest: { ...CHANGES.rest, has_unread_groups: true } })).toBe(
    'groups that moved less, and small groups',
  )
})

test('a mover is selected by all of its labels, also by one that it does not have, among those of the page', () => {
  const ofPage = { field: 'service', operator: 'contains', value: 'c' } as const
  expect(filtersOfMover({ ...mover('chat', '1'), 'tags.team': null }, ['service', 'tags.team'], [ofPage])).toEqual([
    ofPage,
    { field: 'service', operator: 'eq', value: 'chat' },
    { field: 'tags.team', operator: 'eq', value: '' },
  ])
})

test('a service without an owner keeps its name, and calls without a service have none', () => {
  const groups = (service: string, unattributed: boolean) =>
    ['owner', 'service', 'served_model'].filter((field) =>
      isNobody({ ...mover(service, '1'), owner: service, unattributed }, field),
    )

  expect(groups('lonely', true)).toEqual(['owner'])
  expect(groups('unallocated', true)).toEqual(['owner', 'service'])
  expect(groups('chat', false)).toEqual([])
})

test('a change has its sign, and one that is too small for its column still says where it goes', () => {
  expect(['12.345', '-12.345', '0', '0.0001', '-0.0001'].map((text) => signedShown(text, 2))).toEqual([
    '+12.34',
    '−12.34',
    '0.00',
    '< 0.01',
    '> −0.01',
  ])
})
