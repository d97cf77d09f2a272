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

test('a zone is called by its name of today, whichever of its names is asked for', () => {
  expect(['Asia/Kolkata', 'Asia/Calcutta', 'asia/kolkata', 'Europe/Kiev'].map(readZone)).toEqual([
    'Asia/Kolkata',
    'Asia/Kolkata',
    'Asia/Kolkata',
    'Europe/Kyiv',
  ])
})
