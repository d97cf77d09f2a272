import { expect, test } from 'vitest'
import { SharedReads } from '../../../internal/reports/shared-reads.js'

let nowMs = 0
const never = new AbortController().signal

/** Reads whose answers come when the test says so. */
function pendingReads() {
  const asked: { readonly resolve: (value: number) => void; readonly reject: (cause: Error) => void }[] = []
  const read = (signal: AbortSignal): Promise<number> =>
    new Promise((resolve, reject) => {
      asked.push({ resolve, reject })
      signal.addEventListener('abort', () => reject(new Error('aborted')))
    })
  return { asked, read }
}

test('what is asked again in the same words is read once, while it is on its way and for a minute', async () => {
  const shared = new SharedReads<number>(() => nowMs)
  const { asked, read } = pendingReads()
  const both = Promise.all([shared.read('one', never, read), shared.read('one', never, read)])
  const other = shared.read('other', never, read)
  asked[0]?.resolve(1)
  asked[1]?.resolve(2)
  expect(await both).toEqual([1, 1])
  expect(await other).toBe(2)
  nowMs += 59_999
  expect(await shared.read('one', never, read)).toBe(1)
  expect(asked).toHaveLength(2)
  nowMs += 1
  const later = shared.read('one', never, read)
  asked[2]?.resolve(3)
  expect(await later).toBe(3)
})

test('the others read by themselves what the first one left unread, and a failure is not kept', async () => {
  const shared = new SharedReads<number>(() => nowMs)
  const { asked, read } = pendingReads()
  const leaving = new AbortController()
  const first = shared.read('one', leaving.signal, read)
  const others = [shared.read('one', never, read), shared.read('one', never, read)]
  const left = expect(first).rejects.toThrow('aborted')
  leaving.abort()
  await left
  await expect.poll(() => asked.length).toBe(2)
  asked[1]?.resolve(7)
  expect(await Promise.all(others)).toEqual([7, 7])

  const failed = [shared.read('two', never, read), shared.read('two', never, read)]
  const seen = Promise.all(failed.map((each) => expect(each).rejects.toThrow('the store is away')))
  asked[2]?.reject(new Error('the store is away'))
  await expect.poll(() => asked.length).toBe(4)
  asked[3]?.reject(new Error('the store is away'))
  await seen
})

test('a caller who has left reads nothing', async () => {
  const shared = new SharedReads<number>(() => nowMs)
  const { asked, read } = pendingReads()
  const leaving = new AbortController()
  const first = shared.read('one', never, read)
  const second = shared.read('one', leaving.signal, read)
  const ended = [expect(first).rejects.toThrow('away'), expect(second).rejects.toThrow('abort')]
  leaving.abort()
  asked[0]?.reject(new Error('away'))
  await Promise.all(ended)
  expect(asked).toHaveLength(1)
})

test('the oldest answers are dropped', async () => {
  const shared = new SharedReads<number>(() => nowMs)
  let reads = 0
  const read = async (): Promise<number> => ++reads
  for (let n = 0; n < 129; n++) await shared.read(String(n), never, read)
  expect(await shared.read('1', never, read)).toBe(2)
  expect(await shared.read('0', never, read)).toBe(130)
})
