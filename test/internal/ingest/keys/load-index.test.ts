import { setImmediate as nextTurn } from 'node:timers/promises'
import { beforeEach, describe, expect, test } from 'vitest'
import { bytesOf, type KeyHash } from '../../../../internal/ids/key-hash.js'
import { ALL_SLOTS, type Slots, slotOf } from '../../../../internal/ids/owner-slots.js'
import type { KeyConfirmation } from '../../../../internal/ingest/keys/key-confirmation.js'
import {
  type AdmissionHistory,
  createIndexLoader,
  EVENT_WINDOW_MS,
  KEY_WINDOW_MS,
} from '../../../../internal/ingest/keys/load-index.js'
import { emptyIndex } from '../../../../internal/ingest/keys/open-index.js'
import { KeyOwners } from '../../../../internal/ingest/peers/key-owners.js'
import type { AdmittedInvocation } from '../../../../internal/invocations/invocation-group.js'
import { createLog } from '../../../../internal/telemetry/log.js'
import { fingerprintOf, keyOf } from './keys.js'

const NOW_MS = Date.UTC(2026, 10, 27, 12)
const HOUR_MS = 3_600_000
const KEYS = 5_000
const GATEWAYS = ['a', 'b', 'c', 'd', 'e']
const NO_FINGERPRINT = new Int32Array(2)

interface Asked {
  readonly name: 'keys' | 'events'
  readonly slots: Slots
  readonly sinceMs: number
}

/** Keys and events of one hour ago; the read model answers once the test lets it. */
function gateway() {
  const owners = new KeyOwners('a')
  const index = emptyIndex(owners)
  const asked: Asked[] = []
  const pending: AdmittedInvocation[] = []
  let logAnswers = (): Promise<void> => Promise.resolve()
  let answersOf = (_: Asked): Promise<void> => Promise.resolve()
  const atMs = NOW_MS - HOUR_MS
  async function* rows<Row>(question: Asked, write: (key: number, into: Row) => void) {
    asked.push(question)
    await answersOf(question)
    const found =
      question.sinceMs > atMs
        ? []
        : [...Array(KEYS).keys()].filter((key) => question.slots.includes(slotOf(keyOf(key))))
    yield { count: found.length, read: (i: number, into: Row) => write(found[i] ?? -1, into) }
  }
  const history: AdmissionHistory = {
    async *pending() {
      await logAnswers()
      yield* pending
    },
    keysSince: (slots, sinceMs) =>
      rows({ name: 'keys', slots, sinceMs }, (key, into) => {
        keyOf(key, into.hash)
        into.fingerprint.set(fingerprintOf(key))
        into.flags = 0
        into.admittedAtMs = atMs
      }),
    eventsSince: (slots, sinceMs) =>
      rows({ name: 'events', slots, sinceMs }, (key, into) => {
        keyOf(key, into.key)
        into.validFromMs = atMs
      }),
  }
  let nowMs = NOW_MS
  const confirmed: KeyHash[] = []
  const readModel = {
    recorded: undefined as Int32Array | undefined,
    ask(key: KeyHash, fingerprint: Int32Array, answer: Parameters<KeyConfirmation['ask']>[2]) {
      confirmed.push(key)
      if (readModel.recorded === undefined) answer('unknown', 0, 0, fingerprint)
      else answer('conflict', atMs, 0, readModel.recorded)
    },
  }
  const loader = createIndexLoader(index, owners, history, readModel, {
    clock: () => nowMs,
    isBrokerAnswering: () => true,
    log: createLog('test', 'silent'),
  })
  return {
    logAnswersAfter: (when: Promise<void>) => {
      logAnswers = () => when
    },
    owners,
    index,
    loader,
    asked,
    pending,
    confirmed,
    readModel,
    answers: (of: typeof answersOf) => {
      answersOf = of
    },
    pass: (ms: number) => {
      nowMs += ms
    },
    setMembers: (names: readonly string[]) => owners.setMembers(names),
    /** Numbers of the keys, and of the events, that the index knows. */
    known: () => ({
      keys: [...Array(KEYS).keys()].filter(
        (key) => index.keys.lookup(keyOf(key), fingerprintOf(key), nowMs) === 'same',
      ),
      events: [...Array(KEYS).keys()].filter(
        (key) => index.events.lookup(keyOf(key), NO_FINGERPRINT, nowMs) === 'same',
      ),
    }),
    owned: () => [...Array(KEYS).keys()].filter((key) => owners.owns(keyOf(key))),
  }
}

let a: ReturnType<typeof gateway>
beforeEach(() => {
  a = gateway()
})

const slotsAsked = (): Slots[] => a.asked.map(({ slots }) => slots)

test('one of five gateways asks for its own slots, and holds what is in them', async () => {
  a.setMembers(GATEWAYS)

  await a.loader.load()
  await a.loader.loaded()

  expect(slotsAsked()).toEqual([a.owners.slots, a.owners.slots])
  expect(a.asked.map(({ sinceMs }) => sinceMs)).toEqual([NOW_MS - KEY_WINDOW_MS, NOW_MS - EVENT_WINDOW_MS])
  expect(a.known()).toEqual({ keys: a.owned(), events: a.owned() })
  expect(a.owned().length / KEYS).toBeCloseTo(1 / 5, 1)
})

test('what another gateway takes over during a load is not kept, and not asked for any more', async () => {
  a.setMembers(['a', 'b'])
  const half = a.owners.slots
  const owned: number[][] = []
  a.answers(({ name }) => {
    a.setMembers(name === 'keys' ? ['a', 'b', 'c'] : GATEWAYS)
    owned.push(a.owned())
    return Promise.resolve()
  })

  await a.loader.load()
  a.setMembers(['a', 'b', 'c'])
  const third = a.owners.slots
  await a.loader.loaded()

  expect(slotsAsked()).toEqual([third, third])
  expect(half.length).toBeGreaterThan(third.length)
  expect(a.known()).toEqual({ keys: owned[0], events: owned[1] })
})

test('after a departure a gateway asks for the slots it got, and of the others for the last minutes', async () => {
  a.setMembers(GATEWAYS)
  await a.loader.load()
  await a.loader.loaded()
  const before = a.owners.slots
  a.asked.length = 0

  const gained = a.setMembers(['a', 'b', 'c', 'd'])
  await a.loader.load({ gained, unheardMs: 4_999.5 })
  await a.loader.loaded()

  expect(gained.length).toBeGreaterThan(0)
  expect([...before, ...gained].sort()).toEqual([...a.owners.slots].sort())
  expect(a.asked).toEqual([
    { name: 'keys', slots: before, sinceMs: NOW_MS - 605_000 },
    { name: 'events', slots: before, sinceMs: NOW_MS - 605_000 },
    { name: 'keys', slots: gained, sinceMs: NOW_MS - KEY_WINDOW_MS },
    { name: 'events', slots: gained, sinceMs: NOW_MS - EVENT_WINDOW_MS },
  ])
  expect(a.known()).toEqual({ keys: a.owned(), events: a.owned() })
})

describe('until a slot is loaded, its keys count as not loaded:', () => {
  test('all of them before the first load, and while it lasts', async () => {
    const key = keyOf(1)
    expect(a.loader.isLoaded(key)).toBe(false)
    let answer = (): void => undefined
    a.answers(
      () =>
        new Promise((resolve) => {
          answer = resolve
        }),
    )

    await a.loader.load()

    expect([a.loader.isLoaded(key), a.loader.isLoaded(key)]).toEqual([false, false])
    expect(a.loader.loadingSlots()).toBe(ALL_SLOTS.length)
    while (a.asked.length < 1) await nextTurn()
    answer()
    while (a.asked.length < 2) await nextTurn()
    answer()
    await a.loader.loaded()
    expect([a.loader.isLoaded(key), a.loader.isLoaded(key)]).toEqual([true, true])
    expect(a.loader.loadingSlots()).toBe(0)
  })

  test('after a departure those that fell to the gateway; the others once it has read the last minutes', async () => {
    a.setMembers(GATEWAYS)
    await a.loader.load()
    await a.loader.loaded()
    const own = keyOf(a.owned()[0] ?? -1)
    let answer = (): void => undefined
    a.answers(
      () =>
        new Promise((resolve) => {
          answer = resolve
        }),
    )
    a.asked.length = 0

    const gained = a.setMembers(['a', 'b', 'c', 'd'])
    const fallen = keyOf([...Array(KEYS).keys()].find((key) => gained.includes(slotOf(keyOf(key)))) ?? -1)
    void a.loader.load({ gained, unheardMs: 0 })
    const loaded = (): boolean[] => [a.loader.isLoaded(own), a.loader.isLoaded(fallen)]

    expect(loaded()).toEqual([false, false])
    for (let answered = 1; answered <= 4; answered++) {
      while (a.asked.length < answered) await nextTurn()
      expect(loaded()).toEqual([answered > 2, false])
      answer()
    }
    await a.loader.loaded()
    expect(loaded()).toEqual([true, true])
  })

  test("another gateway's are never loaded here: it knows them", async () => {
    a.setMembers(GATEWAYS)
    await a.loader.load()
    await a.loader.loaded()

    const foreign = [...Array(KEYS).keys()].find((key) => !a.owners.owns(keyOf(key))) ?? -1

    expect(a.loader.isLoaded(keyOf(foreign))).toBe(false)
  })

  test('while a second gateway leaves during the load after the first, until both loads have ended', async () => {
    a.setMembers(['a', 'b', 'c'])
    await a.loader.load()
    await a.loader.loaded()
    const answers: (() => void)[] = []
    a.answers(() => new Promise((resolve) => void answers.push(resolve)))
    a.asked.length = 0

    const first = a.setMembers(['a', 'b'])
    void a.loader.load({ gained: first, unheardMs: 0 })
    void a.loader.load({ gained: a.setMembers(['a']), unheardMs: 0 })
    const fallenFirst = keyOf([...Array(KEYS).keys()].find((key) => first.includes(slotOf(keyOf(key)))) ?? -1)
    const isLoaded = (): boolean => a.loader.isLoaded(fallenFirst)

    for (let answered = 0; answered < 8; answered++) {
      while (answers.length <= answered) await nextTurn()
      expect(isLoaded()).toBe(false)
      answers[answered]?.()
    }
    await a.loader.loaded()
    expect(isLoaded()).toBe(true)
    expect(a.known().keys).toHaveLength(KEYS)
  })
})

describe('what only the log holds', () => {
  const FLAGS = 4
  const CONFLICT = { found: 'conflict', flags: FLAGS }
  const waiting = (key: number): AdmittedInvocation =>
    ({
      id: new Uint8Array(bytesOf(keyOf(key))),
      receivedAtMs: NOW_MS - 1_000,
      key: {
        hash: new Uint8Array(bytesOf(keyOf(key))),
        fingerprint: new Uint8Array(bytesOf(fingerprintOf(key))),
        flags: FLAGS,
      },
    }) as unknown as AdmittedInvocation

  test('is loaded as far as the gateway owns it', async () => {
    a.setMembers(['a', 'b'])
    a.answers(() => new Promise(() => undefined))
    for (let key = 0; key < 100; key++) a.pending.push(waiting(key))

    await a.loader.load()

    const owned = a.owned().filter((key) => key < 100)
    expect(a.known().keys).toEqual(owned)
    expect(a.index.events.exactKeys).toBe(owned.length)
  })

  test("of a silent gateway's keys is searched, too, when one of them is needed", async () => {
    a.setMembers(['a', 'b'])
    await a.loader.load()
    await a.loader.loaded()
    const foreign = [...Array(100).keys()].find((key) => !a.owners.owns(keyOf(key))) ?? -1
    a.pending.push(waiting(foreign))
    a.pass(2_000)

    expect(await a.loader.recheck(keyOf(foreign), fingerprintOf(foreign))).toEqual({ found: 'same', flags: FLAGS })
    expect(await a.loader.recheck(keyOf(foreign), fingerprintOf(foreign + 1))).toEqual(CONFLICT)
    expect(a.confirmed).toEqual([])
  })

  test('looks for a key of a dead gateway in the log, shortly after a load of what this one owns', async () => {
    a.setMembers(['a', 'b'])
    const foreign = [...Array(KEYS).keys()].find((key) => !a.owners.owns(keyOf(key))) ?? -1
    a.pending.push(waiting(foreign))
    await a.loader.load()
    await a.loader.loaded()
    a.pass(100)

    expect(await a.loader.recheck(keyOf(foreign), fingerprintOf(foreign + 1))).toEqual(CONFLICT)
    expect(a.confirmed).toEqual([])
  })

  test('is waited for, also when a later load of less is over before', async () => {
    a.setMembers(['a', 'b'])
    await a.loader.load()
    await a.loader.loaded()
    const foreign = [...Array(KEYS).keys()].find((key) => !a.owners.owns(keyOf(key))) ?? -1
    a.pass(2_000)
    let answer = (): void => undefined
    a.logAnswersAfter(
      new Promise((resolve) => {
        answer = resolve
      }),
    )
    const first = a.loader.recheck(keyOf(foreign), fingerprintOf(foreign + 1))
    a.logAnswersAfter(Promise.resolve())
    await a.loader.load({ gained: [], unheardMs: 0 })
    const second = a.loader.recheck(keyOf(foreign), fingerprintOf(foreign + 1))

    await nextTurn()
    a.pending.push(waiting(foreign))
    answer()

    expect(await Promise.all([first, second])).toEqual([CONFLICT, CONFLICT])
  })
})

test('a conflict that the read model knew is one still when it is unavailable', async () => {
  await a.loader.load()
  await a.loader.loaded()
  a.readModel.recorded = fingerprintOf(1)

  expect(await a.loader.confirm(keyOf(KEYS + 1), fingerprintOf(2))).toBe('conflict')

  const lookUp = (body: number) => a.index.keys.lookup(keyOf(KEYS + 1), fingerprintOf(body), NOW_MS)
  expect([1, 2].map(lookUp)).toEqual(['same', 'conflict'])
})
