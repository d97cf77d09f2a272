import { EventEmitter, once } from 'node:events'
import fc from 'fast-check'
import { afterEach, beforeAll, expect, test } from 'vitest'
import { type Broker, connectBroker, ensureStreams } from '../../../../internal/broker/connect.js'
import { joinMembers } from '../../../../internal/broker/members.js'
import {
  type EventAnswer,
  FIRST,
  releasedBy,
  STORED,
  takenBy,
  UNSURE,
} from '../../../../internal/ingest/keys/event-answers.js'
import { FULL, InFlight, type Outcome, type Ticket, WAITS } from '../../../../internal/ingest/keys/in-flight.js'
import type { Missing } from '../../../../internal/ingest/keys/load-index.js'
import { localKeys } from '../../../../internal/ingest/keys/local-keys.js'
import { OwnedEvents } from '../../../../internal/ingest/keys/owned-events.js'
import type { ClaimVerdict, PeerTicket } from '../../../../internal/ingest/peers/claim.js'
import { KeyOwners } from '../../../../internal/ingest/peers/key-owners.js'
import { LEASE_MS } from '../../../../internal/ingest/peers/peer-claims.js'
import { decodeMessage, encodeAnswers } from '../../../../internal/ingest/peers/peer-messages.js'
import { joinPeers, type PeerMembers, type Peers } from '../../../../internal/ingest/peers/peers.js'
import { AdmissionIndex } from '../../../../internal/repeats/admission-index.js'
import { createLog } from '../../../../internal/telemetry/log.js'
import { MEMBERS } from '../../../../streams/buckets.js'
import { CLAIM_ANSWER_MS, claimsSubject } from '../../../../streams/gateways.js'
import { launchBroker, type RunningBroker } from '../../../support/broker.js'
import { linkTo } from '../../../support/silent-link.js'
import { fingerprintOf, keyOf } from '../keys/keys.js'

const WINDOW_MS = 3_600_000
const log = createLog('test', 'silent')

let nats: RunningBroker
beforeAll(async () => {
  nats = await launchBroker()
  const broker = await connectBroker({ url: nats.url, user: '', password: '', name: 'setup' })
  await ensureStreams(broker, { replicas: 1, invocationsBytesMax: 1024 ** 2, observationsBytesMax: 1024 ** 2 })
  await broker.close()
})

const open: { readonly broker: Broker; readonly peers?: Peers }[] = []
afterEach(async () => {
  for (const { broker, peers } of open.splice(0)) {
    if (broker.connection.isClosed()) continue
    await peers?.close()
    await broker.connection.close()
  }
})

async function connected(name: string, url = nats.url): Promise<Broker> {
  const broker = await connectBroker({ url, user: '', password: '', name })
  open.push({ broker })
  return broker
}

/** Members as the test says. */
function membersOf(names: readonly string[]) {
  let live = names
  const listeners: (() => void)[] = []
  return {
    live: () => live,
    onChange: (tell: () => void) => void listeners.push(tell),
    isCurrent: () => true,
    onCurrentAgain: () => undefined,
    leave: () => Promise.resolve(),
    become(now: readonly string[]) {
      live = now
      for (const tell of listeners) tell()
    },
  } satisfies PeerMembers & { become(now: readonly string[]): void }
}

type Fate = 'admitted' | 'replayed' | 'conflict' | 'refused'

/** What a request is answered with. Nobody here has the answer to one that a peer had. */
type Answer = 'admitted' | 'conflict' | 'refused' | 'elsewhere'

interface Gateway {
  readonly name: string
  readonly broker: Broker
  readonly peers: Peers
  readonly owners: KeyOwners
  readonly time: { ms: number }
  /** Whether some owner of events is silent, at each change. */
  readonly silences: readonly boolean[]
  /** One request, from its key to its answer, as admission.ts does it. */
  submit(key: number, body: number, commit?: () => Promise<boolean>): Promise<Fate>
  claim(owner: string, key: number, body: number): Promise<ClaimVerdict>
  /** Claims an event for a partition. */
  take(event: number, partition: number): Promise<EventAnswer>
}

/** Every name and number is of this test alone. */
let run = 0
const nextRun = (): void => {
  run++
}
const named = (name: string): string => `${name}-${run}`
const numbered = (key: number): number => run * 1_000_000 + key

/** On a machine that is busy elsewhere 100 ms may pass: only where an owner is silent is it a matter of time. */
const PATIENT_MS = 30_000

async function gateway(
  name: string,
  join: (broker: Broker) => Promise<PeerMembers>,
  { url = nats.url, answerWithinMs = PATIENT_MS } = {},
): Promise<Gateway> {
  const broker = await connectBroker({ url, user: '', password: '', name })
  const time = { ms: 1_000_000 }
  const silences: boolean[] = []
  const clock = (): number => time.ms
  const index = new AdmissionIndex({
    windowMs: WINDOW_MS,
    periodMs: WINDOW_MS,
    exactKeysMax: 100_000,
    hasFingerprint: true,
    filterBitsPerKey: 16,
    filterBytesMax: () => Number.POSITIVE_INFINITY,
  })
  const eventIndex = new AdmissionIndex({
    windowMs: WINDOW_MS,
    periodMs: WINDOW_MS,
    exactKeysMax: 100_000,
    hasFingerprint: false,
    filterBitsPerKey: 16,
    filterBytesMax: () => Number.POSITIVE_INFINITY,
  })
  const inFlight = new InFlight<Answer>({ keysMax: 10_000, waitingMax: 10_000, clock: () => 0 })
  const owners = new KeyOwners(name)
  const peers = await joinPeers({
    connection: broker.connection,
    join: () => join(broker),
    self: name,
    local: localKeys<Answer>({
      index,
      inFlight,
      isLoaded: () => true,
      confirm: () => Promise.resolve('unknown'),
      elsewhere: 'elsewhere',
      clock,
    }),
    owners,
    owned: new OwnedEvents({
      index: eventIndex,
      isSure: () => true,
      partitionInFlight: () => undefined,
      partitions: 64,
      clock,
    }),
    ownerChanges: {
      follow: () => undefined,
      noteChange: () => undefined,
      noteSilence: (isAny) => void silences.push(isAny),
      areSettled: true,
    },
    flushed: () => Promise.resolve(),
    partitions: 4,
    clock,
    log,
    answerWithinMs,
    eventAnswerWithinMs: answerWithinMs,
  })
  open.push({ broker, peers })

  const submit: Gateway['submit'] = (key, body, commit = () => Promise.resolve(true)) =>
    new Promise((resolve, reject) => {
      const words = keyOf(numbered(key))
      const fingerprint = fingerprintOf(body)
      const start = (): void => {
        const verdict = index.lookup(words, fingerprint, clock())
        if (verdict === 'same') return resolve('replayed')
        if (verdict === 'conflict') return resolve('conflict')
        const begun = inFlight.begin(words, fingerprint, { onOutcome, overdue: () => undefined })
        if (begun === FULL) return resolve('refused')
        if (begun !== WAITS) proceed(begun)
      }
      const onOutcome = (outcome: Outcome<Answer>): void => {
        switch (outcome.kind) {
          case 'conflict':
            return resolve('conflict')
          case 'proceed':
            return proceed(outcome.ticket)
          case 'replay':
            return outcome.answer === 'elsewhere' ? start() : resolve('replayed')
          case 'refused':
            if (outcome.answer === 'elsewhere') return start()
            return resolve(outcome.answer === 'conflict' ? 'conflict' : 'refused')
        }
      }
      const proceed = (ticket: Ticket): void => {
        const owner = peers.ownerOf(words)
        if (owner === undefined) return write(ticket, undefined)
        peers.claim(owner, words, fingerprint, (verdict) => {
          switch (verdict.kind) {
            case 'proceed':
            case 'unanswered':
              return write(ticket, verdict.ticket)
            case 'same':
              inFlight.settle(ticket, true, 'admitted')
              return resolve('replayed')
            case 'conflict':
              inFlight.settle(ticket, false, 'conflict')
              return resolve('conflict')
          }
        })
      }
      const write = (ticket: Ticket, peerTicket: PeerTicket | undefined): void => {
        commit().then((isAdmitted) => {
          if (isAdmitted) index.admit(words, fingerprint, 0, clock())
          inFlight.settle(ticket, isAdmitted, isAdmitted ? 'admitted' : 'refused')
          if (peerTicket !== undefined) peers.settled(peerTicket, isAdmitted, 0)
          resolve(isAdmitted ? 'admitted' : 'refused')
        }, reject)
      }
      start()
    })

  return {
    name,
    broker,
    peers,
    owners,
    time,
    silences,
    submit,
    claim: (owner, key, body) =>
      new Promise((resolve) => peers.claim(owner, keyOf(numbered(key)), fingerprintOf(body), resolve)),
    take: (event, partition) =>
      new Promise((resolve) => void peers.events.claim(keyOf(numbered(event)), partition, resolve)),
  }
}

/** Gateways that know of each other from the start. */
async function gateways(...names: string[]): Promise<Gateway[]> {
  nextRun()
  const all = names.map(named)
  return Promise.all(all.map((name) => gateway(name, async () => membersOf(all))))
}

/** Numbers of keys that `owner` owns as `asker` sees it. */
function keysOwnedBy(owner: string, asker: Gateway, count: number): number[] {
  const keys: number[] = []
  for (let key = 0; keys.length < count; key++) {
    if ((asker.peers.ownerOf(keyOf(numbered(key))) ?? asker.name) === owner) keys.push(key)
  }
  return keys
}

const keyOwnedAt = (asker: Gateway, key: number): string => asker.peers.ownerOf(keyOf(numbered(key))) ?? asker.name

const keyOwnedBy = (owner: string, asker: Gateway): number => keysOwnedBy(owner, asker, 1)[0] ?? -1

const turns = async (count: number): Promise<void> => {
  for (let i = 0; i < count; i++) await new Promise((resolve) => setImmediate(resolve))
}

/** Stored, but not before the other gateways have asked. */
const slowly = async (): Promise<boolean> => {
  await turns(20)
  return true
}

/** A gateway of which only the hearing is there, played by the test. */
async function playedBy(
  name: string,
  hear: (kind: string, respond: (bytes?: Uint8Array) => void, count: number) => void,
) {
  const { connection } = await connected(name)
  connection.subscribe(claimsSubject(name), {
    callback: (_, message) => {
      const heard = decodeMessage(message.data)
      if (heard === undefined) throw new Error('a message of no known kind')
      hear(heard.kind, (bytes) => message.respond(bytes), heard.records.length)
    },
  })
  await connection.flush()
}

test('of two different bodies sent at once under one key to two gateways one is admitted, one conflicts', async () => {
  const [a, b] = await gateways('a', 'b')
  if (a === undefined || b === undefined) throw new Error('unreachable')

  const fates = await Promise.all(
    Array.from({ length: 500 }, (_, key) => Promise.all([a.submit(key, 1, slowly), b.submit(key, 2, slowly)])),
  )

  for (const pair of fates) expect([...pair].sort()).toEqual(['admitted', 'conflict'])
})

test('of equal bodies sent at once under one key to three gateways one is admitted, the rest are replays', async () => {
  const all = await gateways('a', 'b', 'c')

  const fates = await Promise.all(
    Array.from({ length: 500 }, (_, key) => Promise.all(all.map(({ submit }) => submit(key, 1, slowly)))),
  )

  for (const three of fates) expect([...three].sort()).toEqual(['admitted', 'replayed', 'replayed'])
})

test('a key is admitted once and equal bodies get equal answers under any interleaving', async () => {
  const all = await gateways('a', 'b', 'c')
  const request = fc.record({
    gateway: fc.nat(2),
    key: fc.nat(5),
    body: fc.integer({ min: 1, max: 3 }),
    after: fc.nat(12),
    takes: fc.nat(12),
    isStored: fc.integer({ min: 0, max: 9 }).map((dice) => dice > 0),
  })
  let keysBefore = 0

  await fc.assert(
    fc.asyncProperty(fc.array(request, { minLength: 1, maxLength: 40 }), async (requests) => {
      const first = keysBefore
      keysBefore += 10
      const fates = await Promise.all(
        requests.map(async ({ gateway: at, key, body, after, takes, isStored }) => {
          await turns(after)
          const commit = async (): Promise<boolean> => {
            await turns(takes)
            return isStored
          }
          return { key, body, fate: await all[at]?.submit(first + key, body, commit) }
        }),
      )

      for (const key of new Set(requests.map((one) => one.key))) {
        const ofKey = fates.filter((one) => one.key === key)
        const admitted = ofKey.filter(({ fate }) => fate === 'admitted')
        expect(admitted.length).toBeLessThanOrEqual(1)
        if (admitted.length === 0) {
          // Nothing was stored, so nobody may have been told that it was, or that another body was.
          expect(ofKey.filter(({ fate }) => fate !== 'refused')).toEqual([])
          continue
        }
        for (const { body, fate } of ofKey) {
          if (fate === 'refused' || fate === 'admitted') continue
          expect(fate).toBe(body === admitted[0]?.body ? 'replayed' : 'conflict')
        }
      }
    }),
    { numRuns: 60 },
  )
})

test('a key that was admitted elsewhere is known to every gateway through its owner', async () => {
  const [a, b, c] = await gateways('a', 'b', 'c')
  if (a === undefined || b === undefined || c === undefined) throw new Error('unreachable')
  const key = keyOwnedBy(b.name, a)

  const verdict = await a.claim(b.name, key, 1)
  if (verdict.kind !== 'proceed') throw new Error(verdict.kind)
  a.peers.settled(verdict.ticket, true, 9)

  // a's settlement comes before its next claim.
  expect(await a.claim(b.name, key, 1)).toEqual({ kind: 'same', flags: 9 })
  expect(await c.claim(b.name, key, 2)).toEqual({ kind: 'conflict' })
  expect(await b.submit(key, 1)).toBe('replayed')
})

test('all claims of one turn to one owner are sent as one request', async () => {
  const [a, b] = await gateways('a', 'b')
  if (a === undefined || b === undefined) throw new Error('unreachable')
  const tap = await connected('tap')
  const heard: string[] = []
  tap.connection.subscribe(claimsSubject(b.name), {
    callback: (_, { data }) => {
      const message = decodeMessage(data)
      heard.push(`${message?.records.length} ${message?.kind}`)
    },
  })
  await tap.connection.flush()

  const verdicts = await Promise.all(keysOwnedBy(b.name, a, 1_000).map((key) => a.claim(b.name, key, 1)))
  for (const verdict of verdicts) if (verdict.kind === 'proceed') a.peers.settled(verdict.ticket, true, 0)
  // ClaimAnswer after the settlements, which are on their way before it.
  const after = await a.claim(b.name, keysOwnedBy(b.name, a, 1_001)[1_000] ?? 0, 1)
  await tap.connection.flush()

  expect(verdicts.every(({ kind }) => kind === 'proceed')).toBe(true)
  expect(after.kind).toBe('proceed')
  expect(heard).toEqual(['1000 claims', '1000 settlements', '1 claims'])
})

test('an owner leaves an undecodable message unanswered and answers the others', async () => {
  const [a, b] = await gateways('a', 'b')
  if (a === undefined || b === undefined) throw new Error('unreachable')
  const { connection } = await connected('stranger')

  connection.publish(claimsSubject(b.name), 'hello')
  await connection.flush()

  expect((await a.claim(b.name, keyOwnedBy(b.name, a), 1)).kind).toBe('proceed')
})

test('the keys of an owner whose connection has closed are decided for without it', async () => {
  nextRun()
  const names = ['a', 'b'].map(named)
  const a = await gateway(named('a'), async () => membersOf(names), { answerWithinMs: CLAIM_ANSWER_MS })
  const b = await gateway(named('b'), async () => membersOf(names))
  const key = keyOwnedBy(b.name, a)
  await b.broker.connection.close()

  const verdict = await a.claim(b.name, key, 1)

  expect(verdict).toMatchObject({ kind: 'unanswered', isInFlight: false })
  expect(await a.submit(key, 1)).toBe('admitted')
})

test('an owner that falls silent leaves claims unanswered, and later its keys to the others', async () => {
  nextRun()
  const names = ['a', 'b'].map(named)
  const [nameA = '', nameB = ''] = names
  const onLost = (): void => undefined
  const join = (name: string) => async (broker: Broker) =>
    joinMembers(await broker.bucket(MEMBERS), 'gateway', name, onLost)
  const link = await linkTo(nats.port)
  const a = await gateway(nameA, join(nameA), { answerWithinMs: CLAIM_ANSWER_MS })
  const events = new EventEmitter()
  a.peers.onDeparture((departed) => events.emit('departed', departed))
  const b = await gateway(nameB, join(nameB), { url: link.url })
  const key = await (async () => {
    // a hears of b by its heartbeat.
    while (keysShared(a, nameB) === 0) await turns(1)
    return keyOwnedBy(nameB, a)
  })()
  expect(a.peers.ownerOf(keyOf(numbered(key)))).toBe(nameB)
  expect((await a.claim(nameB, key, 1)).kind).toBe('proceed')

  const departure = once(events, 'departed')
  link.fallSilent()
  const verdict = await a.claim(nameB, key, 1)

  expect(verdict).toMatchObject({ kind: 'unanswered', isInFlight: false })
  expect(await departure).toEqual([[nameB]])
  expect(a.peers.ownerOf(keyOf(numbered(key)))).toBeUndefined()
  await b.broker.connection.close()
  // Else the gateways of the next test wait for it when they join.
  await (await a.broker.bucket(MEMBERS)).delete(`gateway.${nameB}`)
})

test('a gateway that says goodbye gives up its keys at once', async () => {
  nextRun()
  const join = (name: string) => async (broker: Broker) =>
    joinMembers(await broker.bucket(MEMBERS), 'gateway', name, () => undefined)
  const a = await gateway(named('a'), join(named('a')))
  const events = new EventEmitter()
  a.peers.onDeparture((departed) => events.emit('departed', departed))
  const b = await gateway(named('b'), join(named('b')))
  while (keysShared(a, b.name) === 0) await turns(1)

  const departure = once(events, 'departed')
  await b.peers.close()

  expect(await departure).toEqual([[b.name]])
  expect(keysShared(a, b.name)).toBe(0)
})

test('a key that is never settled goes to another gateway when its lease is over', async () => {
  const [a, b, c] = await gateways('a', 'b', 'c')
  if (a === undefined || b === undefined || c === undefined) throw new Error('unreachable')
  const key = keyOwnedBy(b.name, a)
  expect((await a.claim(b.name, key, 1)).kind).toBe('proceed')

  const fate = c.submit(key, 2)
  b.time.ms += LEASE_MS

  expect(await fate).toBe('admitted')
})

test('a claim that has waited for 2 s is left to the caller, with the note that the key is in flight', async () => {
  const [a, b, c] = await gateways('a', 'b', 'c')
  if (a === undefined || b === undefined || c === undefined) throw new Error('unreachable')
  const key = keyOwnedBy(b.name, a)
  await a.claim(b.name, key, 1)

  const waiting = c.claim(b.name, key, 2)
  // ClaimAnswer once the claim before it, of the same turn, waits.
  await c.claim(b.name, keysOwnedBy(b.name, a, 2)[1] ?? 0, 1)
  c.time.ms += 2_000

  expect(await waiting).toMatchObject({ kind: 'unanswered', isInFlight: true })
})

test('a settlement that the owner has not confirmed is sent again', async () => {
  nextRun()
  const events = new EventEmitter()
  let settlements = 0
  await playedBy(named('b'), (kind, respond, count) => {
    if (kind === 'claims') return respond(encodeAnswers(Array.from({ length: count }, () => ({ kind: 'proceed' }))))
    if (++settlements === 1) return
    respond()
    events.emit('told again')
  })
  const a = await gateway(named('a'), async () => membersOf([named('a'), named('b')]))
  const verdict = await a.claim(named('b'), keyOwnedBy(named('b'), a), 1)
  if (verdict.kind !== 'proceed') throw new Error(verdict.kind)

  const toldAgain = once(events, 'told again')
  a.peers.settled(verdict.ticket, true, 0)

  await toldAgain
})

test('a key admitted while its owner departed is reported to its new owner', async () => {
  nextRun()
  const names = ['a', 'b', 'c'].map(named)
  const [nameA = '', nameB = '', nameC = ''] = names
  const membersSeenByA = membersOf(names)
  const a = await gateway(nameA, async () => membersSeenByA)
  await gateway(nameB, async () => membersOf(names))
  const c = await gateway(nameC, async () => membersOf([nameA, nameC]))
  const key = keysOwnedBy(nameB, a, 200).find((one) => c.peers.ownerOf(keyOf(numbered(one))) === undefined) ?? -1
  const verdict = await a.claim(nameB, key, 1)
  if (verdict.kind !== 'proceed') throw new Error(verdict.kind)

  membersSeenByA.become([nameA, nameC])
  a.peers.settled(verdict.ticket, true, 4)

  expect(await a.claim(nameC, key, 1)).toEqual({ kind: 'same', flags: 4 })
})

test('closing leaves the claims in flight to their callers', async () => {
  nextRun()
  await playedBy(named('b'), () => undefined)
  const a = await gateway(named('a'), async () => membersOf([named('a'), named('b')]))
  const keys = keysOwnedBy(named('b'), a, 2)

  const asked = a.claim(named('b'), keys[0] ?? 0, 1)
  await turns(2)
  const collected = a.claim(named('b'), keys[1] ?? 0, 1)
  await a.peers.close()

  expect([await asked, await collected]).toMatchObject([{ kind: 'unanswered' }, { kind: 'unanswered' }])
})

/** How many of some keys the other gateway owns. */
const keysShared = (seenBy: Gateway, owner: string): number =>
  Array.from({ length: 100 }, (_, key) => seenBy.peers.ownerOf(keyOf(numbered(key)))).filter((one) => one === owner)
    .length

test('of claims for one event at any gateways in any order, one is the first, and the others follow it', async () => {
  const all = await gateways('a', 'b', 'c')
  const request = fc.record({ gateway: fc.nat(2), event: fc.nat(5), partition: fc.nat(3), after: fc.nat(12) })
  let eventsBefore = 0

  await fc.assert(
    fc.asyncProperty(fc.array(request, { minLength: 1, maxLength: 40 }), async (requests) => {
      const before = eventsBefore
      eventsBefore += 10
      const answers = await Promise.all(
        requests.map(async ({ gateway: at, event, partition, after }) => {
          await turns(after)
          return { event, partition, answer: await all[at]?.take(before + event, partition) }
        }),
      )

      for (const event of new Set(requests.map((one) => one.event))) {
        const ofEvent = answers.filter((one) => one.event === event)
        const [first, ...more] = ofEvent.filter(({ answer }) => answer === FIRST)
        expect(more).toEqual([])
        const others = ofEvent.filter((one) => one !== first).map(({ answer }) => answer)
        expect(new Set(others)).toEqual(new Set(others.length === 0 ? [] : [takenBy(first?.partition ?? -1)]))
      }
    }),
    { numRuns: 60 },
  )
})

test('an event that could not be stored is free again, in the partition of its first claim', async () => {
  const [a, b, c] = await gateways('a', 'b', 'c')
  if (a === undefined || b === undefined || c === undefined) throw new Error('unreachable')
  for (const owner of [a, b]) {
    const event = keyOwnedBy(owner.name, a)
    const key = keyOf(numbered(event))
    const asked = a.peers.events.claim(key, 3, () => undefined)
    expect(await a.take(event, 1)).toBe(takenBy(3))

    a.peers.events.settled(key, 3, asked, FIRST, false)
    // The release comes before the next claim of this gateway.
    expect(await a.take(event, 1)).toBe(releasedBy(3))
    expect(await c.take(event, 2)).toBe(takenBy(3))
  }
})

test('an event claimed at another owner, or at none, is made known to its owner once it is stored', async () => {
  const [a, b] = await gateways('a', 'b')
  if (a === undefined || b === undefined) throw new Error('unreachable')
  const event = keyOwnedBy(b.name, a)

  a.peers.events.settled(keyOf(numbered(event)), 3, undefined, FIRST, true)

  expect(await a.take(event, 1)).toBe(STORED)
})

test('an event that was stored although its owner did not answer is made known to all others', async () => {
  nextRun()
  const names = ['a', 'b', 'c'].map(named)
  const [nameA = '', nameB = '', nameC = ''] = names
  const a = await gateway(nameA, async () => membersOf(names))
  // It has seen the dead gateway leave, and owns its events with the third one.
  const b = await gateway(nameB, async () => membersOf([nameA, nameB]))
  const ofTheDead = keysOwnedBy(nameC, a, 200).filter((event) => keyOwnedAt(b, event) === nameB)
  const [event = -1] = ofTheDead

  expect(await a.take(event, 3)).toBe(UNSURE)
  a.peers.events.settled(keyOf(numbered(event)), 3, nameC, UNSURE, true)

  await expect.poll(() => b.take(event, 1)).toBe(STORED)
})

test('nobody waits for an owner of events that is silent, which still hears of their claims', async () => {
  nextRun()
  const names = ['a', 'b'].map(named)
  const [nameA = '', nameB = ''] = names
  const answerWithinMs = CLAIM_ANSWER_MS
  const a = await gateway(nameA, async () => membersOf(names), { answerWithinMs })
  const heard: ((bytes?: Uint8Array) => void)[] = []
  await playedBy(nameB, (_, respond) => void heard.push(respond))
  const [one = -1, two = -1, three = -1] = keysOwnedBy(nameB, a, 3)
  const returned: string[] = []
  a.peers.onDeparture((peers) => void returned.push(...peers))
  expect(await a.take(one, 0)).toBe(UNSURE)
  expect(a.silences).toEqual([true])

  let answer: EventAnswer | undefined
  a.peers.events.claim(keyOf(numbered(two)), 2, (told) => {
    answer = told
  })

  expect(answer).toBe(UNSURE)
  while (heard.length < 2) await turns(1)
  // It is back, and answers the latest claim.
  heard[1]?.(Uint8Array.of(FIRST))
  await expect
    .poll(() => {
      let told: EventAnswer | undefined
      a.peers.events.claim(keyOf(numbered(three)), 1, (given) => {
        told = given
      })
      return told
    })
    .toBeUndefined()
  // What it has admitted meanwhile may have been told to nobody.
  expect(a.silences).toEqual([true, false])
  expect(returned).toEqual([nameB])
})

test('a gateway that has lost others gets their slots, and for how long it may have missed something', async () => {
  nextRun()
  const names = ['a', 'b', 'c'].map(named)
  const [nameA = '', nameB = '', nameC = ''] = names
  const members = membersOf(names)
  const againCurrent: ((lapsedMs: number) => void)[] = []
  const answerWithinMs = CLAIM_ANSWER_MS
  const a = await gateway(
    nameA,
    async () => ({ ...members, onCurrentAgain: (listener) => void againCurrent.push(listener) }),
    { answerWithinMs },
  )
  await playedBy(nameC, () => undefined)
  const seen: [readonly string[], Missing][] = []
  a.peers.onDeparture((departed, missing) => void seen.push([departed, missing]))
  const before = new Set(a.owners.slots)
  const gained = () => a.owners.slots.filter((slot) => !before.has(slot))

  members.become([nameA, nameC])
  expect(seen).toEqual([[[nameB], { gained: gained(), unheardMs: 0 }]])
  expect(gained().length).toBeGreaterThan(0)

  // c has been silent for an hour when it leaves.
  for (const slot of gained()) before.add(slot)
  expect(await a.take(keysOwnedBy(nameC, a, 1)[0] ?? -1, 0)).toBe(UNSURE)
  a.time.ms += 3_600_000
  members.become([nameA])
  expect(seen.slice(1)).toEqual([[[nameC], { gained: gained(), unheardMs: 3_600_000 }]])

  for (const lapsedMs of [0, 2_700]) for (const listener of againCurrent) listener(lapsedMs)
  expect(seen.slice(2)).toEqual([[[], { gained: [], unheardMs: 2_700 }]])

  // A gateway that joins takes slots over, and leaves nothing to load.
  members.become([nameA, nameB])
  expect(seen).toHaveLength(3)
})
