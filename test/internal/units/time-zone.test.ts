import { expect, test } from 'vitest'
import { readZone } from '../../../internal/units/time-zone.js'

test('time zones are the names of the tz database', () => {
  expect(['Europe/Berlin', 'US/Pacific', 'UTC', 'Etc/UTC', 'Etc/GMT+5'].map(readZone)).toEqual([
    'Europe/Berlin',
    'America/Los_Angeles',
    'UTC',
    'UTC',
    'Etc/GMT+5',
  ])
  expect(['SystemV/PST8', '+02:00', 'Mars/Olympus', ''].map(readZone)).toEqual([
    undefined,
    undefined,
    undefined,
    undefined,
  ])
})
