import { expect, test } from 'vitest'
import type { Exchange } from '../../../../internal/http/exchange.js'
import { answerFromStore, replyFromStore } from '../../../../internal/http/resource/from-store.js'
import { StoreAway, TOO_MANY_QUERIES } from '../../../../internal/store/failures.js'

/** An exchange that notes what is replied, and whose caller can leave. */
function open() {
  const replied: unknown[] = []
  let leave = (): void => undefined
  const exchange = {
    isSettled: false,
    onAborted: (listener: () => void) => {
      leave = () => {
        exchange.isSettled = true
        listener()
      }
    },
    replyProblem: ({ code }: { code: string }) => replied.push(code),
    replyJson: (status: string, body: unknown) => replied.push([status, body]),
  }
  return { exchange: exchange as unknown as Exchange, replied, leave: () => leave() }
}

test('a read model that is away is a 503, and a defect stays one', async () => {
  const { exchange, replied } = open()

  await answerFromStore(exchange, () => Promise.reject(new StoreAway('gone')))
  await expect(answerFromStore(exchange, () => Promise.reject(new TypeError('x is undefined')))).rejects.toThrow('x is')

  expect(replied).toEqual(['SERVICE_UNAVAILABLE'])
})

test('a caller who leaves cancels the queries and gets no reply', async () => {
  const { exchange, replied, leave } = open()

  const answered = answerFromStore(
    exchange,
    (signal) => new Promise((_, reject) => signal.addEventListener('abort', () => reject(new Error('cancelled')))),
  )
  leave()
  await answered

  expect(replied).toEqual([])
})

test('what is found is the reply, and too many queries are said', async () => {
  const { exchange, replied } = open()

  await replyFromStore(exchange, async () => ({ value: [1] }))
  await replyFromStore(exchange, async () => undefined)

  expect(replied).toEqual([['200 OK', [1]], TOO_MANY_QUERIES.code])
})
