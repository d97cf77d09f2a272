import { expect, test } from 'vitest'
import { reminder } from '../../../deploy/setup/last-full-run.mjs'

const LAST = { commit: 'f7d216f8a1b2c3d4e5f60718293a4b5c6d7e8f90', date: '2026-11-20', seconds: 3_130 }

test('a full run of the last seven days is not mentioned', () => {
  expect(reminder(LAST, new Date('2026-11-27T23:59:00Z'))).toBeUndefined()
})

test('an older full run is named with its age, date, commit and duration', () => {
  expect(reminder(LAST, new Date('2026-11-28T00:00:00Z'))).toBe(
    'npm run test:all last passed 8 days ago (2026-11-20, f7d216f8a1b2, 52 min).',
  )
})

test('a project without a full run says so', () => {
  expect(reminder(undefined, new Date())).toContain('no recorded result')
})
