import { expect, test } from 'vitest'
import type { Answer } from '../../../../internal/ingest/admission/answers.js'
import { type KeyedRequest, type KeyLock, withKeyLock } from '../../../../internal/ingest/admission/key-lock.js'
import { InFlight } from '../../../../internal/ingest/keys/in-flight.js'
import { openKeys } from '../../../../internal/ingest/keys/open-keys.js'
import { problem } from '../../../../internal/problems/problem-catalogue.js'

const REFUSED: Answer = { kind: 'refused', problem: problem('SERVICE_UNAVAILABLE', 'The log is unavailable.') }

const hashOf = (key: number): Int32Array => Int32Array.of(key, 0, key, 0)
const bodyOf = (body: number): Int32Array => Int32Array.of(body, 0)

/** A gateway's lock: requests of a key and a body, and what each is answered. */
function lock(options: Partial<ConstructorParameters<typeof InFlight<Answer>>[0]> = {}) {
  let nowMs = 0
  const inFlight = new InFlight<Answer>({ keysMax: 8, waitingMax: 8, clock: () => nowMs, ...options })
  const keys = openKeys(AbortSignal.abort())
  return {
    inFlight,
    /** What another gateway admitted. */
    learn: (key: number, body: number) => keys.admit(hashOf(key), bodyOf(body), 0, nowMs),
    later(ms: number) {
      nowMs += ms
      inFlight.notifyOverdue(2_000)
    },
    request(key: number, body: number) {
      const answers: string[] = []
      const turns: KeyLock[] = []
      const exchange = {
        reply: (head: string, text: Uint8Array) =>
          void answers.push(`${head.includes('Idempotency-Replayed') ? 'replayed' : 'first'} ${Buffer.from(text)}`),
        replyProblem: ({ code }: { readonly code: string }) => void answers.push(code),
      }
      const request = {
        exchange,
        caller: {},
        key: hashOf(key),
        fingerprint: bodyOf(body),
      } as unknown as KeyedRequest
      withKeyLock(request, { inFlight, keys, clock: () => nowMs }, (turn) => turns.push(turn))
      return { answers, turns, finish: (answer: Answer) => turns[0]?.finish(answer) }
    },
  }
}

test('the first request of a key proceeds at once, and so does one of another key', () => {
  const gateway = lock()
  const [one, other] = [gateway.request(1, 1), gateway.request(2, 1)]

  expect([one.turns.length, other.turns.length]).toEqual([1, 1])
  one.finish({ kind: 'accepted', body: Buffer.from('a') })
  other.finish(REFUSED)
  expect([one.answers, other.answers]).toEqual([['first a'], ['SERVICE_UNAVAILABLE']])
  expect(gateway.inFlight.keys).toBe(0)
})

test('others wait: one with the same body gets the first one’s answer, one with another body a conflict', () => {
  const gateway = lock()
  const [first, same, other] = [gateway.request(1, 1), gateway.request(1, 1), gateway.request(1, 2)]
  expect([same.turns, other.turns, same.answers, other.answers]).toEqual([[], [], [], []])

  const body = Buffer.from('a')
  first.finish({ kind: 'accepted', body })
  body.fill(0)

  expect([first.answers, same.answers, other.answers]).toEqual([['first a'], ['replayed a'], ['IDEMPOTENCY_CONFLICT']])
})

test('if the first one is refused, equal ones are so too, and the first with another body proceeds', () => {
  const gateway = lock()
  const [first, same, other, third] = [1, 1, 2, 3].map((body) => gateway.request(1, body))

  first?.finish(REFUSED)

  expect([first?.answers, same?.answers]).toEqual([['SERVICE_UNAVAILABLE'], ['SERVICE_UNAVAILABLE']])
  expect([other?.turns.length, third?.turns.length]).toEqual([1, 0])
  other?.finish({ kind: 'accepted', body: Buffer.from('b') })
  expect([other?.answers, third?.answers]).toEqual([['first b'], ['IDEMPOTENCY_CONFLICT']])
})

test('a request that takes over does not proceed if another gateway has admitted another body meanwhile', () => {
  const gateway = lock()
  const [first, other, third] = [1, 2, 3].map((body) => gateway.request(1, body))

  gateway.learn(1, 3)
  first?.finish(REFUSED)

  expect([other?.turns.length, other?.answers]).toEqual([0, ['IDEMPOTENCY_CONFLICT']])
  expect(third?.turns.length).toBe(1)
})

test('a request that waits too long is asked to come again, whatever the outcome', () => {
  const gateway = lock()
  const [first, same] = [gateway.request(1, 1), gateway.request(1, 1)]

  gateway.later(2_001)

  expect([first.answers.length, same.answers]).toEqual([1, ['SERVICE_UNAVAILABLE']])
})

test('beyond the limits a request is refused without a turn', () => {
  const gateway = lock({ keysMax: 1 })
  gateway.request(1, 1)
  const other = gateway.request(2, 1)

  expect([other.answers, other.turns]).toEqual([['RATE_LIMITED'], []])
})
