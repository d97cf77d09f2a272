import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { mapInOrder } from '../../../internal/exports/map-in-order.js'

const never = new AbortController().signal

async function all<R>(results: AsyncIterable<R>): Promise<R[]> {
  const found: R[] = []
  for await (const one of results) found.push(one)
  return found
}

describe('mapping in order', () => {
  test('yields results in the order of the items, with at most the given number in flight', async () => {
    let [underWay, most] = [0, 0]
    const work = async (ms: number) => {
      most = Math.max(most, ++underWay)
      await sleep(ms)
      underWay--
      return ms
    }

    expect(await all(mapInOrder([30, 1, 20, 2, 10], 2, work, never))).toEqual([30, 1, 20, 2, 10])
    expect(most).toBe(2)
  })

  test('throws the first error in the order of the items, after all other tasks have ended', async () => {
    const ended: number[] = []
    const work = async (item: number, signal: AbortSignal) => {
      if (item === 1) throw new Error('no')
      await new Promise((resolve) => signal.addEventListener('abort', resolve))
      ended.push(item)
      throw signal.reason
    }

    await expect(all(mapInOrder([1, 2, 3, 4], 3, work, never))).rejects.toThrow('no')
    expect(ended).toEqual([2, 3])
  })

  test('aborts tasks in flight when its reader stops', async () => {
    const told: number[] = []
    const work = async (item: number, signal: AbortSignal) => {
      signal.addEventListener('abort', () => told.push(item))
      return item
    }

    for await (const first of mapInOrder([1, 2, 3], 2, work, never)) {
      expect(first).toBe(1)
      break
    }
    expect(told).toEqual([1, 2])
  })

  test('throws the reason with which its caller aborts', async () => {
    const caller = new AbortController()
    const work = (_: number, signal: AbortSignal) =>
      new Promise<never>((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
    const results = all(mapInOrder([1, 2], 2, work, caller.signal))
    caller.abort(new Error('stopped'))

    await expect(results).rejects.toThrow('stopped')
  })
})
