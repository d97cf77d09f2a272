import fc from 'fast-check'
import { expect, test } from 'vitest'
import { type Slots, slotOf } from '../../../../internal/ids/owner-slots.js'
import { KeyOwners } from '../../../../internal/ingest/peers/key-owners.js'
import { keyOf } from '../keys/keys.js'

/** The owner as everyone names it. */
function ownersSeenBy(self: string, members: readonly string[]): (key: number) => string {
  const owners = new KeyOwners(self)
  owners.setMembers(members)
  return (key) => owners.ownerOf(keyOf(key)) ?? self
}

const memberLists = fc.uniqueArray(fc.stringMatching(/^[a-z0-9-]{1,12}$/), { minLength: 1, maxLength: 8 })

test('a gateway that is alone owns every key and has no peers', () => {
  const owners = new KeyOwners('a')

  owners.setMembers(['a'])

  expect([owners.ownerOf(keyOf(1)), owners.peers]).toEqual([undefined, []])
})

test('all members name the same owner, in any order of discovery', () => {
  fc.assert(
    fc.property(memberLists, fc.nat(), (members, key) => {
      const named = members.map((self, i) =>
        ownersSeenBy(self, [...members.slice(i), ...members.slice(0, i)].reverse())(key),
      )

      expect(new Set(named).size).toBe(1)
      expect(members).toContain(named[0])
    }),
  )
})

test('a member that leaves gives up its own keys and moves no other', () => {
  fc.assert(
    fc.property(
      memberLists.filter(({ length }) => length >= 3),
      fc.nat(),
      ([self = '', gone = '', ...others], key) => {
        const before = ownersSeenBy(self, [self, gone, ...others])(key)
        const after = ownersSeenBy(self, [self, ...others])(key)

        if (before === gone) expect(after).not.toBe(gone)
        else expect(after).toBe(before)
      },
    ),
  )
})

test('the keys are shared out evenly', () => {
  const members = ['gateway-1', 'gateway-2', 'gateway-3', 'gateway-4']
  const ownerOf = ownersSeenBy('gateway-1', members)
  const shares = new Map(members.map((member) => [member, 0]))

  for (let key = 0; key < 40_000; key++) shares.set(ownerOf(key), (shares.get(ownerOf(key)) ?? 0) + 1)

  // Four standard deviations around 10,000.
  for (const share of shares.values()) expect(Math.abs(share - 10_000)).toBeLessThan(350)
})

const KEYS = Array.from({ length: 500 }, (_, i) => i)
/** Numbers of the keys that these slots have. */
const inSlots = (slots: Slots): number[] => KEYS.filter((key) => slots.includes(slotOf(keyOf(key))))
const ownKeys = (owners: KeyOwners): number[] => KEYS.filter((key) => owners.owns(keyOf(key)))

test('the slots of a gateway have all keys that it owns; those it gained had other owners before', () => {
  fc.assert(
    fc.property(memberLists, memberLists, (before, after) => {
      const owners = new KeyOwners('self')
      owners.setMembers(['self', ...before])
      const owned = ownKeys(owners)
      expect(inSlots(owners.slots)).toEqual(owned)

      const gained = owners.setMembers(['self', ...after])

      expect(inSlots(owners.slots)).toEqual(ownKeys(owners))
      expect(inSlots(gained)).toEqual(ownKeys(owners).filter((key) => !owned.includes(key)))
    }),
    { numRuns: 30 },
  )
})

test('what a gateway that leaves had falls to the others, each part to one of them', () => {
  const all = ['a', 'b', 'c', 'd', 'e'].map((name) => new KeyOwners(name))
  const names = ['a', 'b', 'c', 'd', 'e']
  for (const owners of all) owners.setMembers(names)
  const [gone, ...others] = all as [KeyOwners, ...KeyOwners[]]

  const gained = others.map((owners) => owners.setMembers(['b', 'c', 'd', 'e']))

  expect(gained.flat().sort()).toEqual([...gone.slots].sort())
})
