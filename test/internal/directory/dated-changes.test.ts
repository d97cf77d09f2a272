import { describe, expect, test } from 'vitest'
import type { ServiceEntry } from '../../../internal/directory/directory.js'
import { datedLabel, undatedLabel, undatedLabels } from '../../../internal/directory/labels.js'
import { directoryKey, directoryOf } from '../../support/directory.js'

const at = (text: string): number => Date.parse(`${text}T00:00:00Z`)
const from = (text: string): string => `${text}T00:00:00Z`

const SHOP: ServiceEntry = {
  name: 'checkout',
  owner: 'team-shop',
  aliases: ['pay'],
  changes: [
    { from: from('2026-03-01'), owner: 'team-commerce' },
    { from: from('2026-06-01'), name: 'commerce' },
  ],
}

describe('a service', () => {
  const directory = directoryOf({ services: [SHOP] })

  test.each([
    ['2026-02-28', 'checkout', 'team-shop'],
    ['2026-03-01', 'checkout', 'team-commerce'],
    ['2026-05-31', 'checkout', 'team-commerce'],
    ['2026-06-01', 'commerce', 'team-commerce'],
    ['2036-01-01', 'commerce', 'team-commerce'],
  ])('is at %s what its changes until then make of it, by each of its names', (day, name, owner) => {
    for (const stated of ['checkout', 'pay', 'commerce', ' Commerce']) {
      expect(directory.service('tnt_one', stated, at(day))).toMatchObject({ name, owner })
    }
  })

  test('changes at the very millisecond', () => {
    const ownerAt = (ms: number) => directory.service('tnt_one', 'checkout', ms)?.owner

    expect([ownerAt(at('2026-03-01') - 1), ownerAt(at('2026-03-01'))]).toEqual(['team-shop', 'team-commerce'])
  })

  test('forgets changes that are withdrawn, and the names in them', () => {
    const changed = directoryOf({ services: [SHOP] })
    changed.apply(directoryKey('services', 'checkout'), { name: 'checkout', owner: 'team-shop' })

    expect(changed.service('tnt_one', 'checkout', at('2026-07-01'))).toMatchObject({
      name: 'checkout',
      owner: 'team-shop',
    })
    expect(changed.service('tnt_one', 'commerce', at('2026-07-01'))).toBeUndefined()
  })
})

describe('a merged service', () => {
  const merged = (name: string, into: string, day: string): ServiceEntry => ({
    name,
    owner: `team-${name}`,
    changes: [{ from: from(day), merged_into: into }],
  })

  test('is another one from that time on, as that one is called then', () => {
    const directory = directoryOf({ services: [SHOP, merged('basket', 'pay', '2026-05-01')] })
    const of = (day: string) => directory.service('tnt_one', 'basket', at(day))

    expect(of('2026-04-30')).toMatchObject({ name: 'basket', owner: 'team-basket' })
    expect(of('2026-05-01')).toMatchObject({ name: 'checkout', owner: 'team-commerce' })
    expect(of('2026-06-01')).toMatchObject({ name: 'commerce', owner: 'team-commerce' })
  })

  test('follows merges of merges, each at its own time', () => {
    const directory = directoryOf({
      services: [merged('a', 'b', '2026-01-01'), merged('b', 'c', '2026-02-01'), { name: 'c', owner: 'team-c' }],
    })
    const of = (day: string) => directory.service('tnt_one', 'a', at(day))?.name

    expect(['2025-12-31', '2026-01-01', '2026-02-01'].map(of)).toEqual(['a', 'b', 'c'])
  })

  test('keeps the name of the other one when that was deleted, and its own owner', () => {
    const directory = directoryOf({ services: [merged('a', 'b', '2026-01-01')] })

    expect(directory.service('tnt_one', 'a', at('2026-02-01'))).toEqual({ name: 'b', owner: 'team-a' })
  })

  test('in a circle is itself', () => {
    const directory = directoryOf({ services: [merged('a', 'b', '2026-01-01'), merged('b', 'a', '2026-01-01')] })

    expect(directory.service('tnt_one', 'a', at('2026-02-01'))?.name).toBe('a')
  })
})

describe('models', () => {
  const directory = directoryOf({ services: [SHOP, { name: 'search', owner: 'team-search' }] })

  test('know a service by one name and owner, whatever records call it, and name it as it was called', () => {
    for (const label of [
      { service: 'checkout', owner: 'team-shop' },
      { service: 'commerce', owner: 'team-commerce' },
    ]) {
      const undated = undatedLabel(label, 'tnt_one', directory)
      expect(undated).toEqual({ service: 'checkout', owner: 'team-shop' })
      expect(datedLabel(undated, 'tnt_one', at('2026-07-01'), directory)).toEqual({
        service: 'commerce',
        owner: 'team-commerce',
      })
    }
    expect(new Map(undatedLabels(directory, 'tnt_one')).get('commerce')).toEqual({
      service: 'checkout',
      owner: 'team-shop',
    })
  })

  test('that a model learnt of before the directory had an owner get it now', () => {
    const late = directoryOf({ services: [{ name: 'search', owner: 'team-search' }] })
    const label = { service: 'search', owner: 'unassigned' }

    expect(datedLabel(label, 'tnt_one', at('2026-07-01'), late)).toEqual({ service: 'search', owner: 'team-search' })
    expect(datedLabel(label, 'tnt_one', at('2026-07-01'), directoryOf())).toEqual(label)
  })

  test('keep what has no changes as it is', () => {
    for (const label of [
      { service: 'search', owner: 'somebody' },
      { service: 'unknown', owner: 'team-x' },
    ]) {
      expect(undatedLabel(label, 'tnt_one', directory)).toEqual(label)
      expect(datedLabel(label, 'tnt_one', at('2026-07-01'), directory)).toEqual(label)
    }
    expect(undatedLabels(directory, 'tnt_one').map(([name]) => name)).toEqual(['checkout', 'pay', 'commerce'])
  })
})
