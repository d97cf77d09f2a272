/**
 * Histories of gateways that share Idempotency-Keys by the stream KEYS, each under a seed: they die, stand still, lose
 * the broker, and start again while requests come. The broker and the disk are simulated; the index of keys, the reader
 * of KEYS, admission and log writer are the product's.
 *
 * At the end each request that was answered with a 202 is in the log, and every gateway knows every key, also after
 * another start, before which KEYS may be purged: the same body is replayed, another one is a conflict.
 *
 * Run it compiled: node dist/test/support/simulated-keys.js <first seed> <histories> [<breakage>]
 */
import type { JetStreamManager } from '@nats-io/jetstream'
import type { Broker } from '../../internal/broker/connect.js'
import type { Publisher } from '../../internal/broker/publisher.js'
import type { Exchange } from '../../internal/http/exchange.js'
import type { KeyHash } from '../../internal/ids/key-hash.js'
import type { AdmissionDeps } from '../../internal/ingest/admission/admission.js'
import type { Decisions, RecordedKeys } from '../../internal/ingest/open-decisions.js'
import type { Spool } from '../../internal/ingest/spool/spool.js'
import type { Random } from '../../internal/local/sandbox/random.js'
import type { Problem } from '../../internal/problems/problem-catalogue.js'
import { runHistories } from './histories.js'
import { installVirtualTime } from './virtual-time.js'

// Before all else is imported, which then has these timers.
const START_MS = Date.UTC(2026, 0, 1)
const time = installVirtualTime(START_MS)
const { setTimeout: sleep } = await import('node:timers/promises')
const { errors } = await import('@nats-io/transport-node')
const { budgetsCache, rateLimitsOf } = await import('../../internal/auth/rate-limits.js')
const { turnNow } = await import('../../internal/http/turn-clock.js')
const { deriveTenantIds } = await import('../../internal/ids/ids.js')
const { bytesOf, hashIdempotencyKey } = await import('../../internal/ids/key-hash.js')
const { admitSingle } = await import('../../internal/ingest/admission/admission.js')
const { AdmittedKeys, SENDER_BYTES } = await import('../../internal/ingest/keys/admitted-keys.js')
const { BodyFingerprint } = await import('../../internal/ingest/keys/body-fingerprint.js')
const { openDecisions } = await import('../../internal/ingest/open-decisions.js')
const { PendingCounts } = await import('../../internal/ingest/received/pending-counts.js')
const { decodeGroup } = await import('../../internal/invocations/invocation-group.js')
const { seededRandom } = await import('../../internal/local/sandbox/random.js')
const { createLog } = await import('../../internal/telemetry/log.js')
const { INVOCATIONS, isInvocations } = await import('../../streams/invocations.js')
const { KEYS_SUBJECT } = await import('../../streams/keys.js')
const { SimulatedBroker, SimulatedHost } = await import('./simulated-network.js')
const { SimulatedSpool } = await import('./simulated-spool.js')
type OwnSpool = InstanceType<typeof SimulatedSpool>

const GATEWAYS = 3
const SENDERS = 8
/** Requests share the newest keys; a new one comes every so often. */
const SHARED = 4
const NEW_EVERY_MS = 400
/** Virtual, from the start of the history. */
const FAULTS_FROM_MS = 4_000
const FAULTS_UNTIL_MS = 14_000
const REQUESTS_UNTIL_MS = 16_000
/** The longest fault, and spools. */
const SETTLED_AFTER_MS = 25_000
/** While nothing fails, every gateway has a key this long after the answer to its request. */
const KNOWN_AFTER_MS = 100
const ATTEMPTS_MAX = 20

/** Ways to break the gateways, each of which must be found. */
type Breakage =
  | 'keys before their group'
  | 'an answer before its keys'
  | 'keys are not spooled'
  | 'a start at the end of the stream'
  | 'the end of the log is not read'
  | 'nobody asks for keys that KEYS lost'

const TENANT = 'tnt_one'
const IDS = deriveTenantIds(new Uint8Array(32).fill(7), TENANT)
const log = createLog('test', 'silent')
const unlimited = rateLimitsOf({ ingest: 1e9, read: 1, report: 1, control: 1, token: 1 })
/** With budgets of its own, for each history: all begin at the same time. */
const callerOf = (): Caller => ({
  tenantId: TENANT,
  principal: 'key_one',
  scopes: new Set<never>(),
  ingestionLayers: undefined,
  budgets: budgetsCache(unlimited)(TENANT, 'key_one'),
})

const hexOf = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex')
const uuidOf = (kind: number, number: number): string =>
  `01890a5d-ac96-774b-8${kind.toString(16).padStart(3, '0')}-${number.toString(16).padStart(12, '0')}`

/** @param body its number, of which each is another event */
const textOf = (body: number): Buffer =>
  Buffer.from(
    JSON.stringify({
      event_id: uuidOf(1, body),
      ingestion_layer: 'gateway',
      ingestion_timestamp: new Date(START_MS).toISOString(),
      provider: 'openai',
      requested_model: 'gpt-4o',
    }),
  )

type Caller = Parameters<typeof admitSingle>[0]['caller']
type Answer = 'accepted' | 'replayed' | 'conflict' | 'unavailable'

const fingerprints = new BodyFingerprint(new Uint8Array(16).fill(3))
const fingerprintOf = (body: number): Int32Array => {
  const fingerprint = new Int32Array(2)
  fingerprints.of(textOf(body), fingerprint)
  return fingerprint
}
const hashOf = (key: string): KeyHash => {
  const hash: KeyHash = new Int32Array(4)
  hashIdempotencyKey(IDS.sip, 0, key, hash)
  return hash
}

class Gateway {
  readonly host = new SimulatedHost()
  readonly name: string
  readonly spool: OwnSpool
  readonly keySpool: OwnSpool
  /** What its predecessors left. */
  readonly orphans: readonly OwnSpool[]
  /** While it starts: undefined. */
  deps: AdmissionDeps | undefined
  private readonly caller: Caller
  private detectedCutAtMs = 0

  constructor(name: string, orphans: readonly OwnSpool[], random: Random, caller: Caller) {
    this.name = name
    this.caller = caller
    this.orphans = orphans
    this.spool = new SimulatedSpool(random)
    this.keySpool = new SimulatedSpool(random)
  }

  get isBrokerUp(): boolean {
    return !this.host.isCut || Date.now() < this.detectedCutAtMs
  }

  get isSettled(): boolean {
    return this.deps !== undefined && [this.spool, this.keySpool, ...this.orphans].every(({ isEmpty }) => isEmpty)
  }

  /** @param detectedAfterMs when its client notices */
  cut(ms: number, detectedAfterMs: number, losesSent: boolean): void {
    this.host.losesSent = losesSent
    this.host.cutUntilMs = Math.max(this.host.cutUntilMs, Date.now() + ms)
    this.detectedCutAtMs = Date.now() + detectedAfterMs
  }

  /** @returns undefined when no answer came: the gateway died, or stood still */
  submit(key: string, body: number): Promise<Answer | undefined> {
    const { deps, host } = this
    const bytes = textOf(body)
    return new Promise((resolve) => {
      if (deps === undefined || host.isDead) return resolve('unavailable')
      setTimeout(() => resolve(undefined), 10_000)
      const exchange = {
        isSettled: false,
        traceparent: undefined,
        reply(head: string) {
          exchange.isSettled = true
          resolve(head.includes('Replayed') ? 'replayed' : 'accepted')
        },
        replyProblem({ code, detail }: Problem) {
          exchange.isSettled = true
          if (code !== 'IDEMPOTENCY_CONFLICT' && code !== 'SERVICE_UNAVAILABLE') throw new Error(`${code}: ${detail}`)
          resolve(code === 'IDEMPOTENCY_CONFLICT' ? 'conflict' : 'unavailable')
        },
        fail(cause: unknown) {
          throw cause
        },
      }
      const request = {
        exchange: exchange as unknown as Exchange,
        caller: this.caller,
        key: hashOf(key),
        fingerprint: fingerprintOf(body),
      }
      // A process that stands still reads its requests afterwards.
      time.runIn(host, () => setTimeout(() => admitSingle(request, bytes, deps), 1))
    })
  }
}

class History {
  private readonly random: Random
  private readonly caller = callerOf()
  private readonly broker: InstanceType<typeof SimulatedBroker>
  private readonly breakage: Breakage | undefined
  private gateways: Gateway[] = []
  private started = 0
  /** Every body that got a 202, by the key, and when it got the first one. */
  private readonly accepted = new Map<string, Map<number, number>>()

  constructor(seed: number, breakage: Breakage | undefined) {
    this.random = seededRandom(`keys ${seed}`)
    this.broker = new SimulatedBroker(time, this.random)
    this.breakage = breakage
  }

  /** @returns what is wrong; undefined: nothing */
  async run(): Promise<string | undefined> {
    await Promise.all(Array.from({ length: GATEWAYS }, () => this.start([])))
    const startedAtMs = Date.now()
    const at = (ms: number): number => startedAtMs + ms
    const failing = this.breakThings(at(FAULTS_FROM_MS), at(FAULTS_UNTIL_MS))
    const senders = Array.from({ length: SENDERS }, () => this.send(at(FAULTS_FROM_MS), at(REQUESTS_UNTIL_MS)))
    const early = (await Promise.all(senders)).find((failure) => failure !== undefined)
    await failing
    await sleep(SETTLED_AFTER_MS)
    this.broker.isFaulty = false
    const failure = early ?? (await this.check())
    for (const { host } of this.gateways) host.kill()
    return failure
  }

  private async check(): Promise<string | undefined> {
    const waiting = this.gateways.filter(({ isSettled }) => !isSettled)
    if (waiting.length > 0) return `${waiting.map(({ name }) => name)} still start, or hold events on disk`
    const failure = this.checkLog() ?? (await this.checkKnowledge())
    if (failure !== undefined) return failure
    const before = this.gateways
    for (const gateway of before) this.end(gateway)
    if (this.random.happens(0.5)) this.broker.purgeKeys()
    await Promise.all(before.map(() => this.start([])))
    return this.checkKnowledge()
  }

  /** Starts a gateway, and another one if it does not reach the broker. @param orphans spools of its predecessors */
  private async start(orphans: readonly OwnSpool[]): Promise<void> {
    const gateway = new Gateway(`gw-${this.started++}`, orphans, this.random, this.caller)
    this.gateways.push(gateway)
    try {
      await this.open(gateway)
    } catch (cause) {
      if (!(cause instanceof errors.TimeoutError)) throw cause
      this.end(gateway)
      await this.start(orphans)
    }
  }

  private async open(gateway: Gateway): Promise<void> {
    const { broker } = this
    const { host, orphans, spool, keySpool } = gateway
    for (const each of this.breakage === 'keys are not spooled' ? [spool, keySpool] : []) {
      const append = each.append.bind(each)
      each.append = (records) => append(records.filter(({ subject }) => subject !== KEYS_SUBJECT))
    }
    const opened = await time.runIn(host, () =>
      openDecisions(
        {
          broker: {
            manager: this.managerOf(gateway),
            connection: { status: () => [] } as unknown as Broker['connection'],
            bucket: async () => broker.bucketOf(host),
          },
          isBrokerUp: () => gateway.isBrokerUp,
          publisher: this.publisherOf(gateway),
          publishEvent: async () => undefined,
          watermark: { doneOf: () => 0 },
          httpBuild: 'none',
          gatewayName: gateway.name,
          budgetExchange: { follow: () => undefined },
          partitions: 2,
          haveCostlyGlobs: () => false,
          clock: Date.now,
          log,
          onLost: () => undefined,
          stopping: host.stopping.signal,
        },
        { spool: asSpool(spool), keySpool: asSpool(keySpool), orphans: orphans.map(asSpool) },
        this.recordedKeys(),
      ),
    )
    gateway.deps = depsOf(opened)
  }

  /** Of the log, as stage A records them. */
  private recordedKeys(): RecordedKeys {
    const entries = () =>
      this.broker.log.flatMap(({ subject, payload, sequence, storedAtMs }) =>
        isInvocations(subject) ? decodeGroup(payload, sequence).map(({ key }) => ({ key, storedAtMs })) : [],
      )
    return {
      async findKeys(hashes) {
        const found = new Map()
        for (const { key, storedAtMs } of entries().reverse()) {
          if (key === undefined || !hashes.some((hash) => hexOf(hash) === hexOf(key.hash))) continue
          found.set(hexOf(key.hash), { ...key, admittedAtMs: storedAtMs })
        }
        return found
      },
      hasKeysBetween: async (fromMs, toMs) =>
        this.breakage !== 'nobody asks for keys that KEYS lost' &&
        this.breakage !== 'a start at the end of the stream' &&
        entries().some(({ key, storedAtMs }) => key !== undefined && storedAtMs >= fromMs && storedAtMs < toMs),
    }
  }

  private publisherOf({ host }: Gateway): Publisher {
    const { breakage } = this
    const { publish } = this.broker.publisherOf(host)
    return {
      async publish(subject, payload, messageId, timeoutMs) {
        if (breakage === 'an answer before its keys' && subject === KEYS_SUBJECT) {
          const copy = Uint8Array.from(payload)
          setTimeout(() => void publish(subject, copy, messageId, timeoutMs), 200)
          return { kind: 'stored', sequence: 1, duplicate: false }
        }
        if (breakage === 'keys before their group' && isInvocations(subject)) {
          const keys = new AdmittedKeys(new Uint8Array(SENDER_BYTES))
          for (const { key } of decodeGroup(payload, 1)) if (key !== undefined) keys.add(key)
          await publish(KEYS_SUBJECT, keys.payload as Uint8Array, '', timeoutMs)
        }
        return publish(subject, payload, messageId, timeoutMs)
      },
    }
  }

  private managerOf({ host }: Gateway): JetStreamManager {
    const { breakage } = this
    const manager = this.broker.managerOf(host)
    const info = async (name: string) => {
      const { created, state } = await manager.streams.info(name)
      if (name === INVOCATIONS.name) {
        return { created, state: { last_seq: breakage === 'the end of the log is not read' ? 0 : state.last_seq } }
      }
      if (breakage !== 'a start at the end of the stream') return { created, state }
      return { created, state: { messages: 0, first_seq: state.last_seq + 1, last_seq: state.last_seq } }
    }
    return { ...manager, streams: { ...manager.streams, info } } as unknown as JetStreamManager
  }

  /** @returns what is wrong before anything has failed */
  private async send(faultsFromMs: number, untilMs: number): Promise<string | undefined> {
    const startedAtMs = Date.now()
    while (Date.now() < untilMs) {
      await sleep(this.random.share() * 1_000)
      const newest = Math.floor((Date.now() - startedAtMs) / NEW_EVERY_MS)
      const key = uuidOf(2, Math.max(0, newest - this.random.whole(0, SHARED - 1)))
      const body = this.random.whole(0, 3)
      if (this.gateways.length === 0) continue
      const sentAtMs = Date.now()
      const gateway = this.random.pick(this.gateways)
      const answer = await gateway.submit(key, body)
      if (answer !== 'accepted' && answer !== 'replayed') continue
      const bodies = this.accepted.get(key) ?? new Map<number, number>()
      this.accepted.set(key, bodies)
      const isKnown = [...bodies.values()].some((atMs) => atMs + KNOWN_AFTER_MS < sentAtMs)
      if (answer === 'accepted' && isKnown && Date.now() < faultsFromMs) return `${gateway.name}: took ${key} again`
      if (!bodies.has(body)) bodies.set(body, Date.now())
    }
    return undefined
  }

  /** Gateways die and start again, stand still, and lose the broker, one or all of them. */
  private async breakThings(fromMs: number, untilMs: number): Promise<void> {
    await sleep(fromMs - Date.now())
    this.broker.isFaulty = true
    while (Date.now() < untilMs) {
      const { random } = this
      await sleep(random.share() * 2_000)
      if (this.gateways.length === 0) continue
      const gateway = random.pick(this.gateways)
      const dice = random.share()
      if (dice < 0.2) void this.cutAndKill(gateway)
      else if (dice < 0.5) void this.kill(gateway)
      else if (dice < 0.65) gateway.host.frozenUntilMs = Date.now() + random.share() * 8_000
      else if (dice < 0.85) gateway.cut(random.share() * 8_000, random.share() * 2_000, random.happens(0.5))
      else {
        const ms = random.share() * 6_000
        for (const each of this.gateways) each.cut(ms, random.share() * 2_000, random.happens(0.5))
      }
    }
  }

  /** Its machine loses power, or it dies with the broker: what it sends is lost before it dies. */
  private async cutAndKill(gateway: Gateway): Promise<void> {
    gateway.cut(1_000, 1_000, true)
    await sleep(this.random.share() * 20)
    if (!gateway.host.isDead) await this.kill(gateway)
  }

  private async kill(gateway: Gateway): Promise<void> {
    this.end(gateway)
    const spools = [...gateway.orphans, gateway.spool, gateway.keySpool].map((spool) => spool.afterDeath())
    await sleep(this.random.share() * 4_000)
    await this.start(spools.filter(({ isEmpty }) => !isEmpty))
  }

  private end(gateway: Gateway): void {
    gateway.host.kill()
    this.broker.forget(gateway.host)
    this.gateways = this.gateways.filter((each) => each !== gateway)
  }

  /** The fingerprints under each key in the log, both in hex. */
  private logged(): ReadonlyMap<string, ReadonlySet<string>> {
    const found = new Map<string, Set<string>>()
    for (const { subject, payload, sequence } of this.broker.log) {
      for (const { key } of isInvocations(subject) ? decodeGroup(payload, sequence) : []) {
        if (key === undefined) continue
        const hex = hexOf(key.hash)
        found.set(hex, (found.get(hex) ?? new Set()).add(hexOf(key.fingerprint)))
      }
    }
    return found
  }

  /** Each 202 is in the log. */
  private checkLog(): string | undefined {
    const logged = this.logged()
    for (const [key, bodies] of this.accepted) {
      const fingerprintsOfKey = logged.get(hexOf(bytesOf(hashOf(key))))
      for (const body of bodies.keys()) {
        if (fingerprintsOfKey?.has(hexOf(bytesOf(fingerprintOf(body)))) === true) continue
        return `${key} was answered with a 202 for body ${body}, which is not in the log`
      }
    }
    return undefined
  }

  /** Every gateway knows every key that the log has with one body: a fault may have let a second one through. */
  private async checkKnowledge(): Promise<string | undefined> {
    const logged = this.logged()
    for (const [key, bodies] of this.accepted) {
      if (logged.get(hexOf(bytesOf(hashOf(key))))?.size !== 1) continue
      const [body = 0] = bodies.keys()
      for (const gateway of this.gateways) {
        const other = await this.repeat(gateway, key, body + 4)
        if (other !== 'conflict') return `${gateway.name}: ${key} with another body is ${other}`
        const same = await this.repeat(gateway, key, body)
        if (same !== 'replayed') return `${gateway.name}: ${key} with its body is ${same}`
      }
    }
    return undefined
  }

  private async repeat(gateway: Gateway, key: string, body: number): Promise<Answer | undefined> {
    for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt++) {
      const answer = await gateway.submit(key, body)
      if (answer !== undefined && answer !== 'unavailable') return answer
      await sleep(500)
    }
    return undefined
  }
}

const asSpool = (spool: OwnSpool): Spool => spool as unknown as Spool

const depsOf = ({ deps }: Decisions): AdmissionDeps => ({
  ...deps,
  fingerprints,
  tenantShares: { count: () => undefined, refusal: () => undefined },
  idsOf: () => IDS,
  keyHashingOf: () => IDS.sip,
  isDiscoveryOnly: () => false,
  retainedFromMs: () => 0,
  received: new PendingCounts(),
  clock: turnNow,
  log,
})

await runHistories<Breakage>(time, (seed, breakage) => new History(seed, breakage).run())
