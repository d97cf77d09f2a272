import { expect, test } from 'vitest'
import { OwnerChanges } from '../../../../internal/ingest/peers/owner-changes.js'

test('owners are settled until they change, and again five seconds after the last change', () => {
  let nowMs = 0
  const changes = new OwnerChanges(() => nowMs)
  changes.follow({ isCurrent: () => true, onCurrentAgain: () => undefined })
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
  changes.follow({ isCurrent: () => true, onCurrentAgain: () => undefined })

  changes.noteSilence(true)
  nowMs = 60_000
  expect(changes.areSettled).toBe(false)
  changes.noteSilence(false)
  nowMs = 64_999
  expect(changes.areSettled).toBe(false)
  nowMs = 65_000
  expect(changes.areSettled).toBe(true)
})

test('owners are not settled while the view of the members is not current, nor five seconds after it is again', () => {
  let nowMs = 0
  let isCurrent = false
  let again = (): void => undefined
  const changes = new OwnerChanges(() => nowMs)
  expect(changes.areSettled).toBe(false)
  changes.follow({
    isCurrent: () => isCurrent,
    onCurrentAgain: (listener) => {
      again = listener
    },
  })
  expect(changes.areSettled).toBe(false)

  isCurrent = true
  nowMs = 10_000
  again()
  nowMs = 14_999
  expect(changes.areSettled).toBe(false)
  nowMs = 15_000
  expect(changes.areSettled).toBe(true)
  isCurrent = false
  expect(changes.areSettled).toBe(false)
})
