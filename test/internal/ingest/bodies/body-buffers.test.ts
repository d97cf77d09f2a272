import { expect, test } from 'vitest'
import { BodyBuffers, TakenBuffers } from '../../../../internal/ingest/bodies/body-buffers.js'

test('a buffer that is given back is used for a body that fits', () => {
  const buffers = new BodyBuffers()
  const first = buffers.take(100_000)
  const second = buffers.take(100_000)
  expect(first.length).toBeGreaterThanOrEqual(100_000)
  expect(second === first).toBe(false)
  buffers.give(first)

  expect(buffers.take(10_000) === first).toBe(false)
  expect(buffers.take(first.length) === first).toBe(true)
  expect(buffers.take(100_000) === first).toBe(false)
})

test('as many are kept as 16 MiB hold, and none for rare long bodies', () => {
  const buffers = new BodyBuffers()
  const long = buffers.take(5_000_000)
  buffers.give(long)
  const usual = Array.from({ length: 20 }, () => buffers.take(1024 * 1024))
  for (const buffer of usual) buffers.give(buffer)

  expect(buffers.take(5_000_000) === long).toBe(false)
  const again = Array.from({ length: 20 }, () => buffers.take(1024 * 1024))
  expect(again.filter((buffer) => usual.includes(buffer))).toHaveLength(16)
})

test('a body that grows keeps its beginning, and its shorter buffers are free for others', () => {
  const buffers = new BodyBuffers()
  const taken = new TakenBuffers(buffers)
  const short = taken.take(1_000)
  short.write('the beginning')
  const long = taken.longer(short, 13, 200_000)
  expect(long.toString('latin1', 0, 13)).toBe('the beginning')
  expect(buffers.take(1_000) === short).toBe(true)

  taken.giveBack()
  taken.giveBack()
  expect(buffers.take(200_000) === long).toBe(true)
  expect(buffers.take(200_000) === long).toBe(false)
})
