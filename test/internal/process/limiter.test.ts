import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { Limiter, LimiterPerKey } from '../../../internal/process/limiter.js'
import { drawn } from '../../support/run/rings.js'

const NEVER = new AbortController().signal
const RUNNING_MAX = 2
const WAIT = { waitingMax: 3, waitMsMax: 60_000, signal: NEVER }

/** A task that ends when the test says so. */
function held() {
  let end: () => void = () => undefined
  let hasStarted = false
  const ended = new Promise<void>((resolve) => {
    end = resolve
  })
  return {
    task: async () => {
      hasStarted = true
      await ended
      return 'answer'
    },
    end,
    hasStarted: () => hasStarted,
  }
}
const aTurn = () => new Promise((resolve) => setImmediate(resolve))

describe('the tasks of one key', () => {
  test('run up to the limit at a time; further ones wait up to their limit, and the next is refused', async () => {
    const limiter = new LimiterPerKey(RUNNING_MAX)
    const tasks = Array.from({ length: 5 }, held)
    const answers = tasks.map(({ task }) => limiter.tryRun('one', task, WAIT))
    const refused = await limiter.tryRun('one', held().task, WAIT)

    expect(refused).toBeUndefined()
    expect(tasks.map(({ hasStarted }) => hasStarted())).toEqual([true, true, false, false, false])
    for (const { end } of tasks) {
      end()
      await aTurn()
    }
    expect(await Promise.all(answers)).toEqual(tasks.map(() => ({ value: 'answer' })))
    expect(await limiter.tryRun('one', async () => 'again', WAIT)).toEqual({ value: 'again' })
  })

  test('do not keep those of another key waiting', async () => {
    const limiter = new LimiterPerKey(RUNNING_MAX)
    const heavy = Array.from({ length: 5 }, held)
    const answers = heavy.map(({ task }) => limiter.tryRun('one', task, WAIT))

    expect(await limiter.tryRun('two', async () => 'at once', WAIT)).toEqual({ value: 'at once' })
    for (const { end } of heavy) end()
    await Promise.all(answers)
  })

  test('are refused when they have waited for too long', async () => {
    const limiter = new LimiterPerKey(1)
    const first = held()
    const running = limiter.tryRun('one', first.task, WAIT)
    const late = held()

    expect(await limiter.tryRun('one', late.task, { ...WAIT, waitMsMax: 20 })).toBeUndefined()
    expect(late.hasStarted()).toBe(false)
    first.end()
    expect(await running).toEqual({ value: 'answer' })
  })

  test('stop waiting when their caller aborts, and a task that fails frees its slot', async () => {
    const limiter = new LimiterPerKey(1)
    const first = held()
    const running = limiter.tryRun(
      'one',
      async () => {
        await first.task()
        throw new Error('refused by the engine')
      },
      WAIT,
    )
    const leaving = new AbortController()
    const left = limiter.tryRun('one', held().task, { ...WAIT, signal: leaving.signal })
    leaving.abort(new Error('left'))

    await expect(left).rejects.toThrow('left')
    const next = limiter.tryRun('one', async () => 'next', { ...WAIT, waitingMax: 1 })
    first.end()
    await expect(running).rejects.toThrow('refused by the engine')
    expect(await next).toEqual({ value: 'next' })
  })

  test('never run in larger number than the limit, in any order of arrivals, ends and aborts', async () => {
    const steps = fc.array(fc.record({ act: fc.constantFrom('come', 'end', 'leave'), at: fc.nat({ max: 20 }) }), {
      maxLength: 60,
    })
    await fc.assert(
      fc.asyncProperty(steps, async (acts) => {
        const limiter = new LimiterPerKey(RUNNING_MAX)
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
            const answer = limiter.tryRun(
              'one',
              async () => {
                running += 1
                await new Promise<void>((resolve) => ends.push(resolve))
                running -= 1
              },
              { ...WAIT, signal: caller.signal },
            )
            answers.push(answer.catch(() => undefined))
          }
          await aTurn()
          expect(running).toBeLessThanOrEqual(RUNNING_MAX)
        }
        while (running > 0) {
          ends.pop()?.()
          await aTurn()
        }
        await Promise.all(answers)
        expect(await limiter.tryRun('one', async () => 'free', WAIT)).toEqual({ value: 'free' })
      }),
      { numRuns: drawn(100) },
    )
  })
})

describe('a limiter', () => {
  test('starts waiting tasks in the order of their arrival, and no later arrival overtakes them', async () => {
    const limiter = new Limiter(1)
    const started: number[] = []
    const task = (number: number) => async () => {
      started.push(number)
      await aTurn()
    }
    const first = limiter.run(task(1))
    const others = [limiter.run(task(2)), first.then(() => limiter.run(task(4))), limiter.run(task(3))]
    expect([limiter.running, limiter.waiting]).toEqual([1, 2])
    await Promise.all([first, ...others])

    expect(started).toEqual([1, 2, 3, 4])
    expect([limiter.running, limiter.waiting]).toEqual([0, 0])
  })

  test('frees the slot of a task that throws', async () => {
    const limiter = new Limiter(1)

    await expect(limiter.run(() => Promise.reject(new Error('no')))).rejects.toThrow('no')
    expect(await limiter.tryRun(async () => 'free', { waitingMax: 0 })).toEqual({ value: 'free' })
  })

  test('that lets nobody wait refuses at once', async () => {
    const limiter = new Limiter(1)
    const first = held()
    const running = limiter.run(first.task)

    expect(await limiter.tryRun(held().task, { waitingMax: 0 })).toBeUndefined()
    first.end()
    expect(await running).toBe('answer')
  })
})
