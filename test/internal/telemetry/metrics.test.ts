import { expect, onTestFinished, test } from 'vitest'
import { readAll, whenRead } from '../../../internal/telemetry/metrics.js'

test('a look that hangs holds up no reading, and is not begun again until it ends', async () => {
  let goesOn = (): void => undefined
  const hangs = new Promise<void>((resolve) => {
    goesOn = resolve
  })
  let begun = 0
  let others = 0
  const stops = [
    whenRead(() => {
      begun++
      return hangs
    }),
    whenRead(() => void others++),
  ]
  onTestFinished(() => {
    for (const stop of stops) stop()
  })

  await readAll(() => undefined)
  await readAll(() => undefined)
  expect([begun, others]).toEqual([1, 2])

  goesOn()
  await readAll(() => undefined)
  await readAll(() => undefined)
  expect(begun).toBe(2)
})

test('what a look throws is passed on, and the other looks are made', async () => {
  const failures: unknown[] = []
  let others = 0
  const stops = [
    whenRead(() => {
      throw new Error('no store')
    }),
    whenRead(() => void others++),
  ]
  onTestFinished(() => {
    for (const stop of stops) stop()
  })

  await readAll((cause) => failures.push(cause))

  expect([failures, others]).toEqual([[new Error('no store')], 1])
})
