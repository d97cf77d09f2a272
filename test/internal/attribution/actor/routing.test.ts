import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Routing } from '../../../../internal/attribution/actor/checkpoint.js'
import { reroute, routingOf } from '../../../../internal/attribution/actor/routing.js'
import { type Disposition, DROP, HAND_ON } from '../../../../internal/attribution/actor/stage.js'
import type { AttributionRow } from '../../../../internal/store/tables/attributions.js'
import { admitted, idOf } from '../../../support/invocations.js'
import { drawn } from '../../../support/run/rings.js'

/** The content of the row does not matter here. */
const RESOLVED: Disposition = { kind: 'resolved', row: {} as AttributionRow }
const FAILED: Disposition = { kind: 'failed', reason: 'why' }
const OF_LETTER = { r: RESOLVED, h: HAND_ON, d: DROP, f: FAILED } as const

/** One letter per event: resolved, handed over, dropped, failed. */
const dispositionsOf = (letters: string): Disposition[] =>
  [...letters].map((letter) => OF_LETTER[letter as keyof typeof OF_LETTER])
const lettersOf = (dispositions: readonly Disposition[]): string =>
  dispositions.map(({ kind }) => (kind === 'hand_on' ? 'h' : (kind[0] ?? ''))).join('')

const eventsOf = (count: number) =>
  Array.from({ length: count }, (_, i) => admitted({ id: idOf(i), position: { sequence: 1, index: i } }))
const indexesOf = (events: readonly { readonly position: { readonly index: number } }[]) =>
  events.map(({ position }) => position.index)

/** Repeats a batch, given the letters before and now, and the indexes of the events that have a record. */
async function again(planned: Routing, now: string, recorded: readonly number[] = []) {
  const rerouted = await reroute(eventsOf(now.length), dispositionsOf(now), planned, async (queried) =>
    queried.map(({ position }) => recorded.includes(position.index)),
  )
  return { now: lettersOf(rerouted.dispositions), late: rerouted.late.map(indexesOf), routing: rerouted.routing }
}

describe('routing', () => {
  test('the routing of a batch without hand-overs is empty', () => {
    expect(routingOf([])).toBe('')
    expect(routingOf(dispositionsOf('rdfr'))).toBe('')
  })

  test('the routing has one bit per event, least significant first', () => {
    expect(Buffer.from(routingOf(dispositionsOf('hrrrrrrr' + 'rh')), 'base64')).toEqual(Buffer.of(0b1, 0b10))
    expect(Buffer.from(routingOf(dispositionsOf('rrrrrrrh')), 'base64')).toEqual(Buffer.of(0b1000_0000))
  })

  test('for any batch, the routing reproduces the same hand-overs if nothing changed', async () => {
    await fc.assert(
      fc.asyncProperty(fc.string({ unit: fc.constantFrom('r', 'h', 'd', 'f'), maxLength: 40 }), async (letters) => {
        const planned = routingOf(dispositionsOf(letters))

        expect(await again(planned, letters)).toEqual({ now: letters, late: [], routing: planned })
      }),
    )
  })
})

describe('a repeated batch', () => {
  test('a repeated batch hands over the planned events even if it could resolve them now', async () => {
    expect(await again(routingOf(dispositionsOf('hhhh')), 'rhdf')).toMatchObject({ now: 'hhhh', late: [] })
  })

  test('a repeated batch hands over late the events without a record that it can no longer resolve', async () => {
    const planned = routingOf(dispositionsOf('hrrr'))

    expect(await again(planned, 'hhrh')).toMatchObject({ now: 'hdrd', late: [[1, 3]] })
  })

  test('a repeated batch hands over no event that already has a record', async () => {
    const planned = routingOf(dispositionsOf('hrrr'))

    expect(await again(planned, 'hhrh', [1, 2])).toMatchObject({ now: 'hdrd', late: [[3]] })
    expect(await again(planned, 'hhhh', [1, 2, 3])).toMatchObject({ now: 'hddd', late: [], routing: planned })
  })

  test('a repeated batch queries the read model only for events whose disposition changed', async () => {
    const queried: number[][] = []
    const planned = routingOf(dispositionsOf('hrr'))
    const ask = async (events: Parameters<typeof indexesOf>[0]) => {
      queried.push(indexesOf(events))
      return events.map(() => false)
    }

    await reroute(eventsOf(3), dispositionsOf('hrr'), planned, ask)
    await reroute(eventsOf(3), dispositionsOf('hrh'), planned, ask)

    expect(queried).toEqual([[2]])
  })

  test('a third attempt hands over the late events of the second, then separately those changed since', async () => {
    const second = await again(routingOf(dispositionsOf('hrrr')), 'hhrr')
    expect(second).toMatchObject({ now: 'hdrr', late: [[1]] })

    expect(await again(second.routing, 'hrrr')).toEqual({ now: 'hdrr', late: [[1]], routing: second.routing })
    expect(await again(second.routing, 'hhhr')).toMatchObject({ now: 'hddr', late: [[1], [2]] })
  })
})

/** One attempt at a batch: the dispositions of this attempt, and the number of steps before the process dies. */
interface Attempt {
  readonly letters: string
  readonly steps: number
}

test('however often a batch is repeated, each event gets one record or is handed over once', async () => {
  const attempts = fc.integer({ min: 1, max: 6 }).chain((size) =>
    fc.array(
      fc.record({
        letters: fc.string({ unit: fc.constantFrom('r', 'h'), minLength: size, maxLength: size }),
        steps: fc.integer({ min: 0, max: 6 }),
      }),
      { minLength: 1, maxLength: 4 },
    ),
  )
  await fc.assert(
    fc.asyncProperty(attempts, async (all) => {
      const { records, handedOn } = await carryOut(all)

      const size = all[0]?.letters.length ?? 0
      expect([...records, ...handedOn].sort()).toEqual(Array.from({ length: size }, (_, i) => i))
    }),
    { numRuns: drawn(2_000) },
  )
})

/**
 * Processes a batch as an actor does: writes the routing into the plan, hands over parts of one event (each stored
 * once, by its number), then inserts the records (once, by the batch's token). Every attempt except the last dies on
 * the way.
 */
async function carryOut(attempts: readonly Attempt[]): Promise<{ records: number[]; handedOn: number[] }> {
  const size = attempts[0]?.letters.length ?? 0
  let plan: Routing | undefined
  let records: number[] | undefined
  const parts: number[] = []

  for (const [i, { letters, steps }] of attempts.entries()) {
    let left = i === attempts.length - 1 ? Number.POSITIVE_INFINITY : steps
    const events = eventsOf(size)
    const fresh = dispositionsOf(letters)
    const { dispositions, late, routing } =
      plan === undefined
        ? { dispositions: fresh, late: [], routing: routingOf(fresh) }
        : await reroute(events, fresh, plan, async (queried) =>
            queried.map(({ position }) => records?.includes(position.index) ?? false),
          )

    if (left-- <= 0) continue
    plan = routing
    let part = 0
    for (const event of [events.filter((_, at) => dispositions[at]?.kind === 'hand_on'), ...late].flat()) {
      if (left-- <= 0) break
      // A part that was already handed over under this number counts; a later one is ignored.
      parts[part] ??= event.position.index
      part++
    }
    if (left-- <= 0) continue
    records ??= indexesOf(events.filter((_, at) => dispositions[at]?.kind === 'resolved'))
  }
  return { records: records ?? [], handedOn: parts }
}
