import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { formBatch, handOverId } from '../../../../internal/attribution/actor/batch.js'
import type { Checkpoint, HandOver } from '../../../../internal/attribution/actor/checkpoint.js'
import type { LogEntry } from '../../../../internal/broker/log.js'
import { decodeGroup, encodeEntry, encodeGroup } from '../../../../internal/invocations/invocation-group.js'
import { idOf, NOW_MS, validEvent } from '../../../support/invocations.js'

const PLAN = { first: 10, last: 19, atMs: NOW_MS }
const BEFORE = { done: 9 }

/** A message with one event per number. */
function message(sequence: number, events: readonly number[], messageId = `gateway.${sequence}`): LogEntry {
  const entries = events.map((event) =>
    encodeEntry({ tenantId: 'tnt_one', principal: 'key_one', id: idOf(event), receivedAtMs: NOW_MS }, validEvent()),
  )
  return { sequence, messageId, data: encodeGroup(entries) }
}

const handOver = (last: number, part: number): string => handOverId('a0', { last, part })
const eventsOf = ({ batch }: ReturnType<typeof formBatch>): number[] =>
  batch.invocations.map(({ id }) => Buffer.from(id).readUInt32BE(4))

describe('a batch', () => {
  test('a batch contains the events of its messages in order, each with its position', () => {
    const formed = formBatch('a', 0, PLAN, [message(10, [1, 2]), message(13, [3])], BEFORE)

    expect(eventsOf(formed)).toEqual([1, 2, 3])
    expect(formed.batch.invocations.map(({ position }) => position)).toEqual([
      { sequence: 10, index: 0 },
      { sequence: 10, index: 1 },
      { sequence: 13, index: 0 },
    ])
  })

  test('the token contains stage, partition and planned range; the batch is valid from the planned instant', () => {
    const { batch } = formBatch('b', 7, PLAN, [message(12, [1])], BEFORE)

    expect(batch).toMatchObject({ stage: 'b', partition: 7, token: 'b.7.10-19', validFromMs: NOW_MS })
  })

  test('the same messages form the same batch again', () => {
    const entries = [
      message(10, [1, 2], handOver(3, 0)),
      message(11, [3], handOver(3, 1)),
      { ...message(12, []), data: Buffer.from('x') },
    ]

    expect(formBatch('b', 0, PLAN, entries, BEFORE)).toEqual(formBatch('b', 0, PLAN, entries, BEFORE))
  })

  test('a batch with another range or partition has another token', () => {
    const tokens = [
      formBatch('a', 0, PLAN, [], BEFORE),
      formBatch('b', 0, PLAN, [], BEFORE),
      formBatch('a', 1, PLAN, [], BEFORE),
      formBatch('a', 0, { ...PLAN, first: 11 }, [], BEFORE),
      formBatch('a', 0, { ...PLAN, last: 20 }, [], BEFORE),
      formBatch('a', 11, { ...PLAN, first: 0 }, [], BEFORE),
    ].map(({ batch }) => batch.token)

    expect(new Set(tokens).size).toBe(tokens.length)
  })
})

describe('poison', () => {
  test('a poison message gets an id from stage and sequence, keeps its bytes, and stops nothing else', () => {
    const data = Buffer.from('{"not":"a group"}')

    const formed = formBatch(
      'a',
      0,
      PLAN,
      [message(10, [1]), { sequence: 11, messageId: '', data }, message(12, [2])],
      BEFORE,
    )

    expect(eventsOf(formed)).toEqual([1, 2])
    expect(formed.poison).toEqual([
      {
        id: 'a.11',
        data,
        reason: 'unreadable_message: TypeError',
        log: 'invocations.a.0',
        messageId: '',
        events: [],
      },
    ])
  })

  test('no event of a poison message is in the batch', () => {
    const half = encodeGroup([new TextDecoder().decode(message(10, [1]).data).slice(1, -1), '{"t":1}'])

    const formed = formBatch('a', 0, PLAN, [{ sequence: 10, messageId: '', data: half }], BEFORE)

    expect(formed.batch.invocations).toEqual([])
    expect(formed.poison.map(({ reason }) => reason)).toEqual(['unreadable_message: Error'])
  })

  test('a poison message lists the events that can still be identified', () => {
    const [whole, other] = [1, 2].map((event) => JSON.parse(new TextDecoder().decode(message(10, [event]).data))[0])
    const entries = [whole, null, 7, { ...other, t: 8 }, { ...other, i: 'x' }, { t: 'tnt_two', i: other.i }]
    const data = Buffer.from(JSON.stringify(entries))

    const [poison] = formBatch('a', 0, PLAN, [{ sequence: 10, messageId: '', data }], BEFORE).poison

    expect(poison?.events.map(({ tenantId, id }) => [tenantId, Buffer.from(id)])).toEqual([
      ['tnt_one', idOf(1)],
      ['tnt_two', idOf(2)],
    ])
  })

  test('the reason of a poison message contains none of its content', () => {
    const secret = 'sk-secret-prompt'
    const texts = [secret, `"${secret}`, `{"t":"${secret}"}`, `[{"t":"${secret}"}]`, `[${secret}]`, `["${secret}"]`]
    const entries = texts.map((text, i) => ({ sequence: 10 + i, messageId: '', data: Buffer.from(text) }))

    const { poison } = formBatch('a', 0, PLAN, entries, BEFORE)

    expect(poison).toHaveLength(texts.length)
    for (const { reason } of poison)
      expect(reason).toMatch(/^unreadable_message: [A-Z]\w*Error$|^unreadable_message: Error$/)
  })

  test('a poison message from a hand-over counts as handed over, so that its repetition is skipped', () => {
    const poison = { messageId: handOver(3, 0), data: Buffer.from('x') }

    const formed = formBatch(
      'b',
      0,
      PLAN,
      [
        { sequence: 10, ...poison },
        { sequence: 11, ...poison },
      ],
      BEFORE,
    )

    expect(formed.poison.map(({ id }) => id)).toEqual(['b.10'])
  })
})

describe('hand-overs', () => {
  test('a repeated hand-over is skipped in the same batch and in a later one', () => {
    const first = formBatch('b', 0, PLAN, [message(10, [1], handOver(3, 0)), message(11, [1], handOver(3, 0))], BEFORE)
    expect(eventsOf(first)).toEqual([1])
    expect(first.handedOver).toEqual({ a0: { last: 3, part: 0 } })

    const after = { done: 19, ...(first.handedOver && { handedOver: first.handedOver }) }
    const second = formBatch(
      'b',
      0,
      { ...PLAN, first: 20, last: 29 },
      [message(20, [1], handOver(3, 0)), message(21, [2], handOver(3, 1))],
      after,
    )

    expect(eventsOf(second)).toEqual([2])
    expect(second.handedOver).toEqual({ a0: { last: 3, part: 1 } })
  })

  test('the hand-overs of one mailbox do not skip those of another', () => {
    const before = { done: 9, handedOver: { a0: { last: 9, part: 9 } } }
    const entries = [message(10, [1], 'hand.a0.9.9'), message(11, [2], 'hand.a1.3.0'), message(12, [3], 'hand.t0.1.0')]

    const formed = formBatch('b', 0, PLAN, entries, before)

    expect(eventsOf(formed)).toEqual([2, 3])
    expect(formed.handedOver).toEqual({
      a0: { last: 9, part: 9 },
      a1: { last: 3, part: 0 },
      t0: { last: 1, part: 0 },
    })
  })

  test('hand-overs are ordered numerically, by batch and then by part', () => {
    const before = { done: 9, handedOver: { a0: { last: 9, part: 9 } } }
    const isTaken = (last: number, part: number): boolean =>
      eventsOf(formBatch('b', 0, PLAN, [message(10, [1], handOver(last, part))], before)).length > 0

    expect([isTaken(9, 10), isTaken(10, 0), isTaken(100, 0)]).toEqual([true, true, true])
    expect([isTaken(9, 9), isTaken(9, 8), isTaken(8, 100)]).toEqual([false, false, false])
  })

  test('each hand-over of several mailboxes takes effect once, however they mingle', () => {
    const drawn = fc.array(fc.tuple(fc.constantFrom('a0', 'a1', 'l0'), fc.boolean()), { maxLength: 20 })
    fc.assert(
      fc.property(drawn, fc.integer({ min: 1, max: 4 }), (published, batchSize) => {
        const newest: Record<string, number> = {}
        const log: LogEntry[] = []
        for (const [source, isRepeat] of published) {
          const last = (newest[source] ?? 0) + (isRepeat && newest[source] !== undefined ? 0 : 1)
          newest[source] = last
          const number = ['a0', 'a1', 'l0'].indexOf(source) * 100 + last
          log.push(message(log.length + 1, [number], handOverId(source, { last, part: 0 })))
        }
        const taken: number[] = []
        let handedOver: Checkpoint['handedOver']
        for (let from = 0; from < log.length; from += batchSize) {
          const before = { done: from, ...(handedOver && { handedOver }) }
          const formed = formBatch('a', 0, PLAN, log.slice(from, from + batchSize), before)
          taken.push(...eventsOf(formed))
          handedOver = formed.handedOver
        }
        const sent = log.flatMap(({ data }) => decodeGroup(data, 1).map(({ id }) => Buffer.from(id).readUInt32BE(4)))

        expect(taken).toEqual([...new Set(sent)])
      }),
    )
  })

  test('messages from a gateway are never skipped as hand-overs, whatever their ids', () => {
    const before = { done: 9, handedOver: { a0: { last: 1_000_000, part: 0 } } }
    const ids = ['', 'run.1', 'hand', 'hand.a0.1', 'hand.a0.1.x', 'xhand.a0.1.0', 'hand.a0.1.0.0']
    const entries = ids.map((id, i) => message(10 + i, [i + 1], id))

    const formed = formBatch('a', 0, PLAN, entries, before)

    expect(eventsOf(formed)).toEqual(ids.map((_, i) => i + 1))
    expect(formed.handedOver).toEqual(before.handedOver)
  })

  test('each hand-over takes effect once, however a stage repeats them and wherever batches end', () => {
    // A stage publishes the parts of its batches in order. After a crash it repeats a batch from its first part.
    const publications = fc
      .array(
        fc.record({ parts: fc.integer({ min: 1, max: 3 }), crashes: fc.array(fc.nat({ max: 3 }), { maxLength: 2 }) }),
        { minLength: 1, maxLength: 5 },
      )
      .map((batches) =>
        batches.flatMap(({ parts, crashes }, b): HandOver[] =>
          [...crashes, parts].flatMap((published) =>
            Array.from({ length: Math.min(published, parts) }, (_, part) => ({ last: (b + 1) * 10, part })),
          ),
        ),
      )
    fc.assert(
      fc.property(publications, fc.integer({ min: 1, max: 4 }), (published, batchSize) => {
        const log = published.map(({ last, part }, i) => message(i + 1, [last + part], handOver(last, part)))
        const taken: number[] = []
        let handedOver: Checkpoint['handedOver']
        for (let from = 0; from < log.length; from += batchSize) {
          const entries = log.slice(from, from + batchSize)
          const before = { done: from, ...(handedOver && { handedOver }) }
          const formed = formBatch('b', 0, { first: from + 1, last: from + entries.length, atMs: 0 }, entries, before)
          taken.push(...eventsOf(formed))
          handedOver = formed.handedOver
        }

        expect(taken).toEqual([...new Set(published.map(({ last, part }) => last + part))])
      }),
    )
  })
})
