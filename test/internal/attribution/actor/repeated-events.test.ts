import { beforeAll, describe, expect, test } from 'vitest'
import type { LoadSeenDeps } from '../../../../internal/attribution/actor/load-seen.js'
import { publishOrThrow } from '../../../../internal/broker/publisher.js'
import { encodeGroup } from '../../../../internal/invocations/invocation-group.js'
import { recordSourcesOf } from '../../../../internal/store/queries/records/sources.js'
import { invocationsSubject } from '../../../../streams/invocations.js'
import {
  actorDeps,
  broker,
  entryOf,
  HOUR_MS,
  keyOf,
  keysOf,
  lines,
  nextMessage,
  openPartitions,
  PARTITIONS,
  publish,
  recordsOf,
  type Sent,
  send,
  start,
  store,
  untilDone,
} from '../../../support/partition-actors.js'

beforeAll(openPartitions)

describe('an event in the mailbox of another partition', () => {
  async function untilPassedOn(mailbox: number, ...partitions: readonly number[]): Promise<void> {
    await untilDone(mailbox, ['a'])
    for (const partition of partitions) await untilDone(partition)
  }

  test('is decided on in its own, where its repeat came later, also after takeovers', async () => {
    const ofOthers = [
      entryOf(11, { number: 201, key: keyOf(201), service: 'search' }),
      entryOf(13, { number: 202, service: 'search' }),
    ]
    await publish(12, encodeGroup(ofOthers))
    let sent = 0
    const dying = start(12, ['a'], {
      deps: { publish: (...message) => (++sent > 1 ? dying.die() : broker.publish(...message)) },
    })
    await dying.dead
    const actors = [start(11), start(12), start(13)]
    await untilPassedOn(12, 11, 13)
    await Promise.all(actors.map((each) => each.stop()))
    await send(11, [{ number: 201, key: keyOf(203), service: 'another' }])
    const next = start(11)
    await untilDone(11)
    await next.stop()

    expect(await recordsOf(11, [201])).toEqual([1])
    expect(await recordsOf(13, [202])).toEqual([1])
    expect(await keysOf([201, 203])).toEqual([1, 1])
    expect(await lines('SELECT service, source_partition FROM attributions WHERE source_partition = 11')).toEqual([
      ['search', 11],
    ])
  })

  test('is dropped in its own when its repeat came first, also from a partition that is no longer there', async () => {
    await send(14, [{ number: 211, service: 'search' }])
    const first = start(14)
    await untilDone(14)
    await first.stop()
    const gone = PARTITIONS + 3
    await publish(gone, encodeGroup([entryOf(14, { number: 211, key: keyOf(211), service: 'another' })]))

    const actors = [start(gone), start(14)]
    await untilPassedOn(gone, 14)
    await Promise.all(actors.map((each) => each.stop()))

    expect(await recordsOf(14, [211])).toEqual([1])
    expect(await keysOf([211])).toEqual([1])
  })
})

describe('a repeated event', () => {
  /** A small exact table, so that most events are only in filters. */
  const limits = { windowMs: 7 * 24 * HOUR_MS, exactEventsMax: 64 }
  const NUMBERS = Array.from({ length: 400 }, (_, i) => 10_000 + i)
  const BATCH = 50

  /** Sends the events in messages, each of which becomes a batch of its own. */
  async function sendAll(partition: number, service: (number: number) => string | undefined): Promise<void> {
    for (let from = 0; from < NUMBERS.length; from += BATCH) {
      const events = NUMBERS.slice(from, from + BATCH).map((number): Sent => {
        const stated = service(number)
        return stated === undefined ? { number } : { number, service: stated }
      })
      await send(partition, events)
      await untilDone(partition, ['a'])
    }
  }

  test('a repeated event is dropped long after it left the exact table, also by the next process', async () => {
    let lookups = 0
    const seen: Partial<LoadSeenDeps> = {
      limits,
      recordSourcesOf(ids, sinceMs) {
        lookups++
        return recordSourcesOf(store.client, ids, sinceMs)
      },
    }
    const first = start(6, undefined, { seen })
    await sendAll(6, (number) => (number % 3 === 0 ? undefined : 'search'))
    await sendAll(6, () => 'another')
    await first.stop()
    const lookupsOfFirst = lookups
    const second = start(6, undefined, { seen })
    await sendAll(6, () => 'a third')
    await untilDone(6)
    await second.stop()

    expect(lookupsOfFirst).toBeGreaterThan(0)
    expect(lookups).toBeGreaterThan(lookupsOfFirst)
    expect(await recordsOf(6, NUMBERS)).toEqual(NUMBERS.map(() => 1))
    const services = await lines(
      'SELECT DISTINCT service FROM attributions WHERE source_partition = 6 ORDER BY service',
    )
    expect(services.flat()).toEqual(['search', 'unallocated'])
  })

  test('a repeated event is dropped while stage B still holds the first one, which has no record yet', async () => {
    const first = start(7, ['a'], { seen: { limits } })
    await sendAll(7, () => undefined)
    await sendAll(7, () => 'another')
    await first.stop()
    const second = start(7, ['a'], { seen: { limits } })
    await sendAll(7, () => 'a third')
    await second.stop()

    expect(await lines('SELECT count() FROM attributions WHERE source_partition = 7')).toEqual([['0']])
    const rest = start(7, ['t', 'b', 'c'], { seen: { limits } })
    await untilDone(7)
    await rest.stop()
    expect(await lines('SELECT count(), uniq(id) FROM attributions WHERE source_partition = 7')).toEqual([
      ['400', '400'],
    ])
  })

  test('a repeated event is dropped while a partition that is no longer there holds the first one', async () => {
    const gone = PARTITIONS + 2
    const held = encodeGroup([entryOf(12, { number: 221 }, { sequence: 7, index: 0 })])
    await publishOrThrow(broker.publish, invocationsSubject('c', gone), held, nextMessage())
    const first = start(12, ['a'])
    await send(12, [{ number: 221, service: 'another' }])
    await untilDone(12, ['a'])
    await first.stop()
    const rest = start(gone, ['c'])
    await untilDone(gone, ['c'])
    await rest.stop()

    expect(await recordsOf(12, [221])).toEqual([1])
  })

  test('an event of a repeated batch is not its own duplicate, even if only a filter knows it', async () => {
    const numbers = Array.from({ length: 1_000 }, (_, i) => 30_000 + i)
    await send(
      8,
      numbers.map((number) => ({ number, service: 'search' })),
    )
    const dying = start(8, ['a'], {
      seen: { limits },
      deps: {
        async insert(rows, token, isRepeat) {
          await actorDeps().insert(rows, token, isRepeat)
          dying.die()
        },
      },
    })
    await dying.dead

    const actors = start(8, ['a'], { seen: { limits } })
    await send(
      8,
      numbers.map((number) => ({ number, service: 'another' })),
    )
    await untilDone(8, ['a'])
    await actors.stop()

    expect(await recordsOf(8, numbers)).toEqual(numbers.map(() => 1))
  })
})
