import { expect, test } from 'vitest'
import { OwnerChanges } from '../../../../internal/ingest/peers/owner-changes.js'

test('owners are settled until they change, and again five seconds after the last change', () => {
  let nowMs = 0
  const changes = new OwnerChanges(() => nowMs)
  expect(changes.areSettled).toBe(true)

  changes.noteChange()
  nowMs = 4_999
  expect(changes.areSettled).toBe(false)
  changes.noteChange()
  nowMs = 9_998
  expect(changes.areSettled).toBe(false)
  nowMs = 9_999
  expect(changes.areSettled).toBe(true)
})

test('owners are not settled while one of them is silent, nor five seconds after its return', () => {
  let nowMs = 0
  const changes = new OwnerChanges(() => nowMs)

  changes.noteSilence(true)
  nowMs = 60_000
  expect(changes.areSettled).toBe(false)
  changes.noteSilence(false)
  nowMs = 64_999
  expect(changes.areSettled).toBe(false)
  nowMs = 65_000
  expect(changes.areSettled).toBe(true)
})
