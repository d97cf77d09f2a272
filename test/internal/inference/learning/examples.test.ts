import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { Outcome, TrainingRecord } from '../../../../internal/inference/learning/examples.js'
import { CLASSES_MAX, seededShare, splitByTime } from '../../../../internal/inference/learning/examples.js'
import { CHAT, SEARCH, SHADOW } from './traffic.js'

const record = (minute: number, outcome: Outcome): TrainingRecord => ({
  facts: {
    eventTimeMs: minute * 60_000,
    provider: 'openai',
    model: 'small',
    ingestionLayer: 'application',
    principal: 'key-1',
  },
  outcome,
})

const times = (count: number, outcome: Outcome): TrainingRecord[] =>
  Array.from({ length: count }, (_, minute) => record(minute, outcome))

test('all validation examples are later than all training examples, and none is lost', () => {
  fc.assert(
    fc.property(fc.array(fc.nat(1_000), { minLength: 1 }), (minutes) => {
      const { training, validation, validationFromMs } = splitByTime(
        minutes.map((minute) => record(minute, { kind: 'unresolved' })),
      )

      expect(training.unlabelled.length + validation.unlabelled.length).toBe(minutes.length)
      for (const { facts } of training.unlabelled) expect(facts.eventTimeMs).toBeLessThan(validationFromMs)
      for (const { facts } of validation.unlabelled) expect(facts.eventTimeMs).toBeGreaterThanOrEqual(validationFromMs)
    }),
  )
})

test('a class needs enough examples, and fewer when they are overrides', () => {
  const { classes } = splitByTime([
    ...times(100, { kind: 'resolved', label: CHAT }),
    ...times(15, { kind: 'resolved', label: SEARCH }),
    ...times(10, { kind: 'override', label: SHADOW }),
  ])

  expect(classes).toEqual([
    { ...CHAT, resolved: 100, overrides: 0, isOpen: false },
    { ...SHADOW, resolved: 0, overrides: 10, isOpen: true },
  ])
})

test('a service with labels only in the last part of the window is a class, with data on both sides', () => {
  const young = Array.from({ length: 50 }, (_, i) => record(950 + i, { kind: 'resolved', label: SEARCH }))

  const { classes, training, validation } = splitByTime([...times(1_000, { kind: 'resolved', label: CHAT }), ...young])

  const at = classes.findIndex(({ service }) => service === SEARCH.service)
  const countIn = (examples: typeof training): number => examples.resolved.filter(({ label }) => label === at).length
  expect([countIn(training), countIn(validation)]).toEqual([42, 8])
})

test('above the maximum number of classes, those with the most examples are kept', () => {
  const many = Array.from({ length: CLASSES_MAX + 5 }, (_, i) =>
    times(30 + i, { kind: 'resolved', label: { service: `service-${i}`, owner: 'team' } }),
  )

  const { classes } = splitByTime([...many.flat(), ...times(1_000, { kind: 'unresolved' })])

  expect(classes).toHaveLength(CLASSES_MAX)
  expect(classes.map(({ service }) => service)).not.toContain('service-4')
  expect(classes.map(({ service }) => service)).toContain('service-5')
})

test('overrides and disputes belong to unlabelled events, with the class they assign or rule out', () => {
  const { training, classes } = splitByTime([
    ...times(100, { kind: 'resolved', label: CHAT }),
    record(1, { kind: 'override', label: CHAT }),
    record(2, { kind: 'override', label: SEARCH }),
    record(3, { kind: 'dispute', against: CHAT }),
  ])

  expect(classes.map(({ service }) => service)).toEqual(['chat'])
  expect(training.unlabelled.map(({ override, dispute }) => [override, dispute])).toEqual([
    [0, undefined],
    [-1, undefined],
    [undefined, 0],
  ])
})

test('seeded shares are uniform from 0 to 1 and determined by seed and index', () => {
  const shares = Array.from({ length: 10_000 }, (_, i) => seededShare(7, i))

  expect(shares.every((share) => share >= 0 && share < 1)).toBe(true)
  for (let tenth = 0; tenth < 10; tenth++) {
    const inIt = shares.filter((share) => Math.floor(share * 10) === tenth).length
    expect(Math.abs(inIt - 1_000)).toBeLessThan(150)
  }
  expect(seededShare(7, 3)).toBe(seededShare(7, 3))
  expect(seededShare(8, 3)).not.toBe(seededShare(7, 3))
})
