import fc from 'fast-check'
import { expect, test } from 'vitest'
import { foldOneLevel } from '../../../internal/cohorts/fold-one-level.js'
import { foldedByRule, peopleOf } from '../../support/cohort-oracle.js'

const K = 4
const groupsOf = fc.uniqueArray(
  fc.record({
    labels: fc.tuple(fc.constantFrom('', 'a', 'b', 'c', 'd', 'e', 'f', 'g')),
    people: fc.uniqueArray(fc.integer({ min: 1, max: 9 }), { maxLength: K + 2 }),
    cost: fc.integer({ min: 0, max: 3 }),
  }),
  { selector: ({ labels }) => labels[0], maxLength: 8 },
)

test('groups of one label fold as the text of the rule says', () => {
  fc.assert(
    fc.property(groupsOf, (groups) => {
      const flat = groups.map((group) => ({
        label: group.labels[0],
        people: group.people.length,
        few: group.people.slice(0, K).map(String),
        cost: BigInt(group.cost),
      }))

      const { own, folded, few, joined } = foldOneLevel(flat, K, (a, b) => (a.label < b.label ? -1 : 1))

      const rows = foldedByRule(groups, K)
      const hidden = rows.find(({ labels }) => labels.length === 0)?.groups ?? []
      const labelsOf = (of: readonly { label: string }[]) => of.map(({ label }) => label).sort()
      expect(labelsOf(own)).toEqual(rows.flatMap(({ labels }) => labels).sort())
      expect(labelsOf(joined === undefined ? folded : [...folded, joined])).toEqual(
        hidden.map(({ labels }) => labels[0]).sort(),
      )
      expect(few.size).toBe(peopleOf(hidden.filter(({ labels }) => labels[0] !== joined?.label)))
    }),
  )
})
