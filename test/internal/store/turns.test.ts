import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { createTurns } from '../../../internal/store/turns.js'

const NEVER = new AbortController().signal
const LIMITS = { runningMax: 2, waitingMax: 3, waitMsMax: 60_000 }

/** A query that ends when it is told to. */
function held() {
  let end: () => void = () => undefined
  let hasStarted = false
  const ended = new Promise<void>((resolve) => {
    end = resolve
  })
  return {
    query: async () => {
      hasStarted = true
      await ended
      return 'answer'
    },
    end,
    hasStarted: () => hasStarted,
  }
}
const aTurn = () => new Promise((resolve) => setImmediate(resolve))

describe('the queries of a tenant', () => {
  test('run a few at a time; some wait, and the next is refused at once', async () => {
    const turns = createTurns(LIMITS)
    const queries = Array.from({ length: 5 }, held)
    const answers = queries.map(({ query }) => turns.take('one', NEVER, query))
    const refused = await turns.take('one', NEVER, held().query)

    expect(refused).toBeUndefined()
    expect(queries.map(({ hasStarted }) => hasStarted())).toEqual([true, true, false, false, false])
    for (const { end } of queries) {
      end()
      await aTurn()
    }
    expect(await Promise.all(answers)).toEqual(queries.map(() => ({ value: 'answer' })))
    expect(await turns.take('one', NEVER, async () => 'again')).toEqual({ value: 'again' })
  })

  test('do not keep another tenant waiting', async () => {
    const turns = createTurns(LIMITS)
    const heavy = Array.from({ length: 5 }, held)
    const answers = heavy.map(({ query }) => turns.take('one', NEVER, query))

    expect(await turns.take('two', NEVER, async () => 'at once')).toEqual({ value: 'at once' })
    for (const { end } of heavy) end()
    await Promise.all(answers)
  })

  test('wait no longer than they may', async () => {
    const turns = createTurns({ ...LIMITS, runningMax: 1, waitMsMax: 20 })
    const first = held()
    const running = turns.take('one', NEVER, first.query)
    const late = held()

    expect(await turns.take('one', NEVER, late.query)).toBeUndefined()
    expect(late.hasStarted()).toBe(false)
    first.end()
    expect(await running).toEqual({ value: 'answer' })
  })

  test('give up their place when their caller leaves, and a query that fails gives up its turn', async () => {
    const turns = createTurns({ ...LIMITS, runningMax: 1, waitingMax: 1 })
    const first = held()
    const running = turns.take('one', NEVER, async () => {
      await first.query()
      throw new Error('refused by the engine')
    })
    const leaving = new AbortController()
    const left = turns.take('one', leaving.signal, held().query)
    leaving.abort(new Error('left'))

    await expect(left).rejects.toThrow('left')
    const next = turns.take('one', NEVER, async () => 'next')
    first.end()
    await expect(running).rejects.toThrow('refused by the engine')
    expect(await next).toEqual({ value: 'next' })
  })

  test('are never more than they may be, in whatever order they come, end and leave', async () => {
    const steps = fc.array(fc.record({ act: fc.constantFrom('come', 'end', 'leave'), at: fc.nat({ max: 20 }) }), {
      maxLength: 60,
    })
    await fc.assert(
      fc.asyncProperty(steps, async (acts) => {
        const turns = createTurns(LIMITS)
        let running = 0
        const ends: (() => void)[] = []
        const leaving: AbortController[] = []
        const answers: Promise<unknown>[] = []
        for (const { act, at } of acts) {
          if (act === 'end') ends.splice(at % Math.max(1, ends.length), 1)[0]?.()
          else if (act === 'leave') leaving[at % Math.max(1, leaving.length)]?.abort(new Error('left'))
          else {
            const caller = new AbortController()
            leaving.push(caller)
            const answer = turns.take('one', caller.signal, async () => {
              running += 1
              await new Promise<void>((resolve) => ends.push(resolve))
              running -= 1
            })
            answers.push(answer.catch(() => undefined))
          }
          await aTurn()
          expect(running).toBeLessThanOrEqual(LIMITS.runningMax)
        }
        while (running > 0) {
          ends.pop()?.()
          await aTurn()
        }
        await Promise.all(answers)
        expect(await turns.take('one', NEVER, async () => 'free')).toEqual({ value: 'free' })
      }),
      { numRuns: 100 },
    )
  })
})
