import { expect, test } from 'vitest'
import { statedNames, typedActors } from '../../../../internal/console/figures/audit-names.js'

const entry = (sequence: number, target: string | null, changes: { before?: object; after?: object } | null) => ({
  sequence,
  target,
  changes,
})

test('what an entry changed has the name that its configuration states, also once it is gone', () => {
  const names = statedNames(
    [
      entry(4, 'bdg_1', { before: { name: 'Each team', ceiling_usd: '5' } }),
      entry(3, 'whk_1', { after: { origin: 'https://example.com', events: [] } }),
      entry(2, 'prc_1', { after: { provider: 'in-house', model: 'in-house-7b' } }),
      entry(1, 'prn_1', { after: { principal_id: 'key_1', service: 'search' } }),
    ],
    new Map([['key_1', 'nightly']]),
  )

  expect(Object.fromEntries(names)).toEqual({
    bdg_1: 'Each team',
    whk_1: 'https://example.com',
    prc_1: 'in-house-7b',
    prn_1: 'nightly',
  })
})

test('a name that has changed is the newest one on every entry, and those without a configuration have it too', () => {
  const entries = [
    entry(3, 'bdg_1', null),
    entry(2, 'bdg_1', { before: { name: 'Old' }, after: { name: 'New' } }),
    entry(1, 'bdg_1', { after: { name: 'Old' } }),
  ]

  expect(statedNames(entries, new Map()).get('bdg_1')).toBe('New')
})

test('what states no name has none: its id is shown', () => {
  const entries = [
    entry(3, null, { after: { name: 'nothing was made' } }),
    entry(2, 'idn_1', { after: { owner: 'team-a', is_workload: false } }),
    entry(1, 'job_1', { after: 'text' as never }),
  ]

  expect(statedNames(entries, new Map()).size).toBe(0)
})

test('an actor is typed by its name, or by its id where several have the name', () => {
  const actors = new Map([
    ['usr_1', 'ada'],
    ['key_1', 'LiteLLM'],
    ['key_2', 'LiteLLM'],
  ])

  expect(Object.fromEntries(typedActors(actors))).toEqual({ usr_1: 'ada', key_1: 'key_1', key_2: 'key_2' })
})
