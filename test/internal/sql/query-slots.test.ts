import fc from 'fast-check'
import { expect, test } from 'vitest'
import { type Asker, QuerySlots } from '../../../internal/sql/query-slots.js'
import { drawn } from '../../support/run/rings.js'

const SLOTS = 8
const NEVER = new AbortController().signal
const aTurn = () => new Promise((resolve) => setImmediate(resolve))

/** Slots whose queries end when the test says so. */
function heldQueries() {
  const slots = new QuerySlots(SLOTS)
  const running: { readonly asker: Asker; readonly end: () => void }[] = []
  const ask = (asker: Asker, signal = NEVER, waitMsMax?: number) =>
    slots.tryRun(
      asker,
      () =>
        new Promise<string>((resolve) => {
          const query = {
            asker,
            end: () => {
              running.splice(running.indexOf(query), 1)
              resolve('answer')
            },
          }
          running.push(query)
        }),
      signal,
      waitMsMax,
    )
  return { ask, running }
}

const of = (tenantId: string, user: number): Asker => ({ tenantId, user: `${tenantId}-${user}` })

test('twelve users of a tenant with two queries each leave half of the slots to others', async () => {
  const { ask, running } = heldQueries()
  for (let user = 0; user < 12; user++) for (let i = 0; i < 2; i++) void ask(of('hostile', user))
  await aTurn()

  expect(running).toHaveLength(4)
  void ask(of('quiet', 0))
  expect(running.at(-1)?.asker).toEqual(of('quiet', 0))
})

test('five tenants that send without end each have a query running', async () => {
  const { ask, running } = heldQueries()
  const tenants = ['a', 'b', 'c', 'd']
  for (const tenant of tenants) for (let user = 0; user < 6; user++) void ask(of(tenant, user))
  await aTurn()

  expect(tenants.map((tenant) => running.filter(({ asker }) => asker.tenantId === tenant).length)).toEqual([4, 2, 1, 1])
  void ask(of('late', 0))
  running[0]?.end()
  await aTurn()
  expect(running.some(({ asker }) => asker.tenantId === 'late')).toBe(true)
})

test('a user has two queries at a time, then eight that wait; the next is refused, as is one that waited too long', async () => {
  const { ask, running } = heldQueries()
  for (let i = 0; i < 10; i++) void ask(of('one', 0))
  expect(await ask(of('one', 0))).toBeUndefined()
  expect(running).toHaveLength(2)

  const other = heldQueries()
  void other.ask(of('one', 0))
  void other.ask(of('one', 0))
  expect(await other.ask(of('one', 0), NEVER, 10)).toBeUndefined()
})

test('a query whose client leaves gives up its turn, and one that fails frees its slot', async () => {
  const slots = new QuerySlots(1)
  const leaving = new AbortController()
  let fail: (cause: Error) => void = () => undefined
  const failing = slots.tryRun(of('one', 0), () => new Promise((_, reject) => (fail = reject)), NEVER)
  const left = slots.tryRun(of('two', 0), async () => 'never', leaving.signal)
  const next = slots.tryRun(of('three', 0), async () => 'next', NEVER)
  leaving.abort(new Error('left'))

  await expect(left).rejects.toThrow('left')
  fail(new Error('refused by the engine'))
  await expect(failing).rejects.toThrow('refused by the engine')
  expect(await next).toEqual({ value: 'next' })
})

test('in any order of arrivals and ends: no slot too many, none of a tenant beyond its share, no waiter forgotten', async () => {
  const steps = fc.array(
    fc.record({ act: fc.constantFrom('come', 'come', 'end', 'leave'), tenant: fc.nat({ max: 3 }), at: fc.nat() }),
    { maxLength: 80 },
  )
  await fc.assert(
    fc.asyncProperty(steps, async (acts) => {
      const { ask, running } = heldQueries()
      const leaving: AbortController[] = []
      const answers: Promise<unknown>[] = []
      for (const { act, tenant, at } of acts) {
        if (act === 'end') running[at % Math.max(1, running.length)]?.end()
        else if (act === 'leave') leaving[at % Math.max(1, leaving.length)]?.abort(new Error('left'))
        else {
          const caller = new AbortController()
          leaving.push(caller)
          answers.push(ask(of(`tenant-${tenant}`, at % 5), caller.signal).catch(() => undefined))
        }
        await aTurn()
        expect(running.length).toBeLessThanOrEqual(SLOTS)
        const shares = [0, 1, 2, 3].map(
          (one) => running.filter(({ asker }) => asker.tenantId === `tenant-${one}`).length,
        )
        expect(Math.max(...shares)).toBeLessThanOrEqual(SLOTS / 2)
      }
      while (running.length > 0) {
        running[0]?.end()
        await aTurn()
      }
      await Promise.all(answers)
    }),
    { numRuns: drawn(200) },
  )
})
