import fc from 'fast-check'
import { expect, test } from 'vitest'
import { DeliveryWindow } from '../../../../internal/webhooks/courier/window.js'

/**
 * Messages of a log in order, with their number of deliveries, and with gaps where the stream has other logs' messages.
 */
const log = fc
  .array(fc.record({ gap: fc.integer({ min: 1, max: 5 }), count: fc.integer({ min: 1, max: 7 }) }), {
    minLength: 1,
    maxLength: 100,
  })
  .map((messages) => {
    let sequence = 0
    return messages.map(({ gap, count }) => {
      sequence += gap
      return { sequence, count }
    })
  })

test('exactly the messages before the first unsettled delivery are done', () => {
  const window = new DeliveryWindow({ done: 0 })
  const places = [2, 5, 9].map((sequence) => window.read(sequence, 1))

  window.settle(places[1] ?? -1)
  expect(window.progress()).toEqual({ done: 0, settled: Buffer.of(0b10).toString('base64') })
  window.settle(places[0] ?? -1)
  expect(window.progress()).toEqual({ done: 5 })
  expect([window.span, window.next]).toEqual([1, 10])
})

test('a message is done when its last delivery is settled', () => {
  const window = new DeliveryWindow({ done: 0 })
  const first = window.read(3, 3)

  window.settle(first)
  window.settle(first + 2)
  expect(window.progress()).toEqual({ done: 0, settled: Buffer.of(0b101).toString('base64') })
  expect(window.span).toBe(2)
  window.settle(first + 1)
  expect(window.progress()).toEqual({ done: 3 })
})

test('a window that continues from stored progress gives each unsettled delivery once, however often it does', () => {
  fc.assert(
    fc.property(
      log,
      fc.array(fc.record({ read: fc.nat(150), settle: fc.array(fc.nat(200)) }), { minLength: 1, maxLength: 6 }),
      (messages, lives) => {
        const settled = new Set<string>()
        let progress: ConstructorParameters<typeof DeliveryWindow>[0] = { done: 0 }
        const given = (window: DeliveryWindow, messagesMax: number): { name: string; place: number }[] =>
          messages
            .filter(({ sequence }) => sequence >= window.next)
            .slice(0, messagesMax)
            .flatMap(({ sequence, count }) => {
              const first = window.read(sequence, count)
              return Array.from({ length: count }, (_, i) => ({ name: `${sequence}.${i}`, place: first + i }))
            })
            .filter(({ place }) => !window.isSettled(place))
        for (const { read, settle } of lives) {
          const window = new DeliveryWindow(progress)
          const open = given(window, read)
          expect(open.filter(({ name }) => settled.has(name))).toEqual([])
          for (const at of settle) {
            const one = open[at]
            if (one === undefined || settled.has(one.name)) continue
            settled.add(one.name)
            window.settle(one.place)
          }
          progress = window.progress()
        }
        const all = messages.flatMap(({ sequence, count }) =>
          Array.from({ length: count }, (_, i) => `${sequence}.${i}`),
        )
        const left = given(new DeliveryWindow(progress), messages.length).map(({ name }) => name)
        const { done } = progress
        expect(left).toEqual(all.filter((name) => !settled.has(name)))
        expect(all.filter((name) => Number(name.split('.')[0]) <= done && !settled.has(name))).toEqual([])
      },
    ),
  )
})

test('a span of tens of thousands of deliveries, few unsettled, is stored as one bit each and read back', () => {
  const window = new DeliveryWindow({ done: 0 })
  const left = [20_003, 41_111, 65_535]
  for (let sequence = 1; sequence <= 656; sequence++) window.read(sequence, 100)
  for (let place = 0; place < 65_600; place++) if (!left.includes(place)) window.settle(place)

  const progress = window.progress()
  const next = new DeliveryWindow(progress)
  const first = 100 * progress.done
  for (let sequence = next.next; sequence <= 656; sequence++) next.read(sequence, 100)

  expect(progress.done).toBe(200)
  expect(Buffer.from(progress.settled ?? '', 'base64').length).toBe((65_600 - 20_000) / 8)
  expect(window.span).toBe(65_600 - 20_003)
  const open = Array.from({ length: 65_600 - first }, (_, at) => at).filter((at) => !next.isSettled(at))
  expect(open.map((at) => first + at)).toEqual(left)
})
