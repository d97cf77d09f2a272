import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type Routing, reroute, routingOf } from '../../../../internal/attribution/actor/routing.js'
import { type Disposition, DROP, HAND_ON } from '../../../../internal/attribution/actor/stage.js'
import type { AttributionRow } from '../../../../internal/store/tables/attributions.js'
import { admitted, idOf } from '../../../support/invocations.js'

/** What a row holds does not matter here. */
const RESOLVED: Disposition = { kind: 'resolved', row: {} as AttributionRow }
const FAILED: Disposition = { kind: 'failed', reason: 'why' }
const OF_LETTER = { r: RESOLVED, h: HAND_ON, d: DROP, f: FAILED } as const

/** A letter an event: resolved, handed on, dropped, failed. */
const dispositionsOf = (letters: string): Disposition[] =>
  [...letters].map((letter) => OF_LETTER[letter as keyof typeof OF_LETTER])
const lettersOf = (dispositions: readonly Disposition[]): string =>
  dispositions.map(({ kind }) => (kind === 'hand_on' ? 'h' : (kind[0] ?? ''))).join('')

const eventsOf = (count: number) =>
  Array.from({ length: count }, (_, i) => admitted({ id: idOf(i), position: { sequence: 1, index: i } }))
const indexesOf = (events: readonly { readonly position: { readonly index: number } }[]) =>
  events.map(({ position }) => position.index)

/** Forms a batch again: by letters before and now, and the indexes of the events that have a record. */
async function again(planned: Routing, now: string, recorded: readonly number[] = []) {
  const rerouted = await reroute(eventsOf(now.length), dispositionsOf(now), planned, async (asked) =>
    asked.map(({ position }) => recorded.includes(position.index)),
  )
  return { now: lettersOf(rerouted.dispositions), late: rerouted.late.map(indexesOf), routing: rerouted.routing }
}

describe('a routing', () => {
  test('of a batch of which nothing goes on is empty', () => {
    expect(routingOf([])).toBe('')
    expect(routingOf(dispositionsOf('rdfr'))).toBe('')
  })

  test('has a bit an event, the least significant first', () => {
    expect(Buffer.from(routingOf(dispositionsOf('hrrrrrrr' + 'rh')), 'base64')).toEqual(Buffer.of(0b1, 0b10))
    expect(Buffer.from(routingOf(dispositionsOf('rrrrrrrh')), 'base64')).toEqual(Buffer.of(0b1000_0000))
  })

  test('brings back the same hand-overs when nothing changed, for any batch', async () => {
    await fc.assert(
      fc.asyncProperty(fc.string({ unit: fc.constantFrom('r', 'h', 'd', 'f'), maxLength: 40 }), async (letters) => {
        const planned = routingOf(dispositionsOf(letters))

        expect(await again(planned, letters)).toEqual({ now: letters, late: [], routing: planned })
      }),
    )
  })
})

describe('a batch that is formed again', () => {
  test('hands on what it handed on, though it could resolve it now', async () => {
    expect(await again(routingOf(dispositionsOf('hhhh')), 'rhdf')).toMatchObject({ now: 'hhhh', late: [] })
  })

  test('hands on late what it can no longer resolve and has no record of', async () => {
    const planned = routingOf(dispositionsOf('hrrr'))

    expect(await again(planned, 'hhrh')).toMatchObject({ now: 'hdrd', late: [[1, 3]] })
  })

  test('hands on nothing that has a record already', async () => {
    const planned = routingOf(dispositionsOf('hrrr'))

    expect(await again(planned, 'hhrh', [1, 2])).toMatchObject({ now: 'hdrd', late: [[3]] })
    expect(await again(planned, 'hhhh', [1, 2, 3])).toMatchObject({ now: 'hddd', late: [], routing: planned })
  })

  test('asks the read model only about events that changed', async () => {
    const asked: number[][] = []
    const planned = routingOf(dispositionsOf('hrr'))
    const ask = async (events: Parameters<typeof indexesOf>[0]) => {
      asked.push(indexesOf(events))
      return events.map(() => false)
    }

    await reroute(eventsOf(3), dispositionsOf('hrr'), planned, ask)
    await reroute(eventsOf(3), dispositionsOf('hrh'), planned, ask)

    expect(asked).toEqual([[2]])
  })

  test('a third time hands on late what it did the second time, and apart from it what came since', async () => {
    const second = await again(routingOf(dispositionsOf('hrrr')), 'hhrr')
    expect(second).toMatchObject({ now: 'hdrr', late: [[1]] })

    expect(await again(second.routing, 'hrrr')).toEqual({ now: 'hdrr', late: [[1]], routing: second.routing })
    expect(await again(second.routing, 'hhhr')).toMatchObject({ now: 'hddr', late: [[1], [2]] })
  })
})

/** One attempt at a batch: what the rules say this time, and after how many steps the process dies. */
interface Attempt {
  readonly letters: string
  readonly steps: number
}

test('however often a batch is formed again, each event ends in one record or is handed on once', async () => {
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
    { numRuns: 2_000 },
  )
})

/**
 * Carries a batch out as an actor does: routing into the plan, hand-overs in parts of one event (each kept once, by
 * its number), then the records (once, by the batch's token). Every attempt but the last dies on the way.
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
        : await reroute(events, fresh, plan, async (asked) =>
            asked.map(({ position }) => records?.includes(position.index) ?? false),
          )

    if (left-- <= 0) continue
    plan = routing
    let part = 0
    for (const event of [events.filter((_, at) => dispositions[at]?.kind === 'hand_on'), ...late].flat()) {
      if (left-- <= 0) break
      // What was handed on under this number before is what counts, whatever comes now.
      parts[part] ??= event.position.index
      part++
    }
    if (left-- <= 0) continue
    records ??= indexesOf(events.filter((_, at) => dispositions[at]?.kind === 'resolved'))
  }
  return { records: records ?? [], handedOn: parts }
}
