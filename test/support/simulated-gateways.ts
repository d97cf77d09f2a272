/**
 * Histories of gateways that share keys and event ids, each under a seed: they die, stand still, lose the broker or
 * each other, and start again while requests come. What is simulated is the broker, the disk, the read model and stage
 * A; members, claims, index, admission and log writer are the product's.
 *
 * At the end each event that was answered with a 202 is in the log, no event can leave two records, and every gateway
 * knows every key and event: the same body is replayed, another one is a conflict, the event under a new key is a
 * duplicate.
 *
 * Run it compiled: node dist/test/support/simulated-gateways.js <first seed> <histories> [<breakage>]
 */
import type { Publisher } from '../../internal/broker/publisher.js'
import type { Exchange } from '../../internal/http/exchange.js'
import type { KeyHash } from '../../internal/ids/key-hash.js'
import type { AdmissionDeps } from '../../internal/ingest/admission/admission.js'
import type { Decisions } from '../../internal/ingest/open-decisions.js'
import type { Spool } from '../../internal/ingest/spool/spool.js'
import type { Random } from '../../internal/local/sandbox/random.js'
import type { Problem } from '../../internal/problems/problem-catalogue.js'
import { runHistories } from './histories.js'
import { installVirtualTime } from './virtual-time.js'

// Before all else is imported, which then has these timers.
const START_MS = Date.UTC(2026, 0, 1)
const time = installVirtualTime(START_MS)
const { setTimeout: sleep } = await import('node:timers/promises')
const { budgetsCache, rateLimitsOf } = await import('../../internal/auth/rate-limits.js')
const { turnNow } = await import('../../internal/http/turn-clock.js')
const { deriveTenantIds, invocationIdBytes, uuidBytes } = await import('../../internal/ids/ids.js')
const { bytesOf, hashIdempotencyKey, wordsOf } = await import('../../internal/ids/key-hash.js')
const { slotOf } = await import('../../internal/ids/owner-slots.js')
const { admitSingle } = await import('../../internal/ingest/admission/admission.js')
const { FIRST, UNSURE } = await import('../../internal/ingest/keys/event-answers.js')
const { BodyFingerprint } = await import('../../internal/ingest/keys/body-fingerprint.js')
const { eventKeyOf } = await import('../../internal/ingest/keys/load-index.js')
const { PendingCounts } = await import('../../internal/ingest/received/pending-counts.js')
const { openDecisions } = await import('../../internal/ingest/open-decisions.js')
const { decodeGroup, WAS_DUPLICATE } = await import('../../internal/invocations/invocation-group.js')
const { seededRandom } = await import('../../internal/local/sandbox/random.js')
const { createLog } = await import('../../internal/telemetry/log.js')
const { isInvocations, partitionOfSubject } = await import('../../streams/invocations.js')
const { UNCONFIRMED_ID_BYTES, UNCONFIRMED_SUBJECT } = await import('../../streams/unconfirmed.js')
const { SimulatedBroker, SimulatedHost } = await import('./simulated-network.js')
const { SimulatedSpool } = await import('./simulated-spool.js')
const { errors } = await import('@nats-io/transport-node')
type Host = InstanceType<typeof SimulatedHost>
type OwnSpool = InstanceType<typeof SimulatedSpool>

const GATEWAYS = 3
const PARTITIONS = 2
const SENDERS = 8
/** Requests share the newest keys, and the newest events; a new one comes every so often. */
const SHARED = 4
const NEW_EVERY_MS = 400
/** Virtual, from the start of the history. */
const FAULTS_FROM_MS = 5_000
const FAULTS_UNTIL_MS = 18_000
const REQUESTS_UNTIL_MS = 20_000
/** The longest fault, the death of members, loads, spools. */
const SETTLED_AFTER_MS = 25_000
const ATTEMPTS_MAX = 20

/** Ways to break the gateways, each of which must be found. */
type Breakage =
  | 'late events are not announced'
  | 'a spool is delivered in silence'
  | 'an unsure event counts as new'
  | 'shares are not loaded'

const TENANT = 'tnt_one'
const IDS = deriveTenantIds(new Uint8Array(32).fill(7), TENANT)
const log = createLog('test', 'silent')
const unlimited = rateLimitsOf({ ingest: 1e9, read: 1, report: 1, control: 1, token: 1 })
const callerOf = () => ({
  tenantId: TENANT,
  principal: 'key_one',
  scopes: new Set<never>(),
  ingestionLayers: undefined,
  budgets: budgetsCache(unlimited)(TENANT, 'key_one'),
})

const hexOf = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex')
const uuidOf = (kind: number, number: number): string =>
  `01890a5d-ac96-774b-8${kind.toString(16).padStart(3, '0')}-${number.toString(16).padStart(12, '0')}`

/** A request's body: an event, in one of several forms. */
interface Body {
  readonly event: number
  readonly form: number
}

const textOf = ({ event, form }: Body): Buffer =>
  Buffer.from(
    JSON.stringify({
      event_id: uuidOf(1, event),
      trace_id: (form + 1).toString(16).padStart(32, '0'),
      ingestion_layer: 'gateway',
      ingestion_timestamp: new Date(START_MS).toISOString(),
      provider: 'openai',
      requested_model: 'gpt-4o',
    }),
  )

type Answer = 'accepted' | 'replayed' | 'conflict' | 'unavailable'

interface Answered {
  readonly answer: Answer
  readonly isDuplicate: boolean
}

const fingerprints = new BodyFingerprint(new Uint8Array(16).fill(3))
const fingerprintOf = (body: Buffer): Int32Array => {
  const fingerprint = new Int32Array(2)
  fingerprints.of(body, fingerprint)
  return fingerprint
}
const hashOf = (key: string): KeyHash => {
  const hash: KeyHash = new Int32Array(4)
  hashIdempotencyKey(IDS.sip, 0, key, hash)
  return hash
}

const asSpool = (spool: OwnSpool): Spool => spool as unknown as Spool

/** What stage A has recorded. */
class ReadModel {
  readonly keys: {
    readonly hash: Int32Array
    readonly fingerprint: Int32Array
    readonly flags: number
    readonly admittedAtMs: number
  }[] = []
  readonly events: { readonly key: Int32Array; readonly validFromMs: number }[] = []
  /** Up to this sequence of the log. */
  done = 0
}

class Gateway {
  readonly host = new SimulatedHost()
  readonly name: string
  readonly spool: OwnSpool
  /** What its predecessors left. */
  readonly orphans: readonly OwnSpool[]
  /** While it starts: undefined. */
  deps: AdmissionDeps | undefined
  private readonly caller = callerOf()
  private detectedCutAtMs = 0

  constructor(name: string, orphans: readonly OwnSpool[], random: Random) {
    this.name = name
    this.orphans = orphans
    this.spool = new SimulatedSpool(random)
  }

  get isBrokerUp(): boolean {
    return !this.host.isCut || Date.now() < this.detectedCutAtMs
  }

  /** @param detectedAfterMs when its client notices */
  cut(ms: number, detectedAfterMs: number, losesSent: boolean): void {
    this.host.losesSent = losesSent
    this.host.cutUntilMs = Math.max(this.host.cutUntilMs, Date.now() + ms)
    this.detectedCutAtMs = Date.now() + detectedAfterMs
  }

  /** @returns undefined when no answer came: the gateway died, or stood still */
  submit(key: string, body: Body): Promise<Answered | undefined> {
    const { deps, host } = this
    const bytes = textOf(body)
    return new Promise((resolve) => {
      if (deps === undefined || host.isDead) return resolve({ answer: 'unavailable', isDuplicate: false })
      setTimeout(() => resolve(undefined), 10_000)
      const exchange = {
        isSettled: false,
        traceparent: undefined,
        reply(head: string, text: Uint8Array) {
          exchange.isSettled = true
          const { duplicate } = JSON.parse(Buffer.from(text).toString('utf8'))
          resolve({ answer: head.includes('Replayed') ? 'replayed' : 'accepted', isDuplicate: duplicate })
        },
        replyProblem({ code, detail }: Problem) {
          exchange.isSettled = true
          if (code !== 'IDEMPOTENCY_CONFLICT' && code !== 'SERVICE_UNAVAILABLE') throw new Error(`${code}: ${detail}`)
          resolve({ answer: code === 'IDEMPOTENCY_CONFLICT' ? 'conflict' : 'unavailable', isDuplicate: false })
        },
        fail(cause: unknown) {
          throw cause
        },
      }
      const request = {
        exchange: exchange as unknown as Exchange,
        caller: this.caller,
        key: hashOf(key),
        fingerprint: fingerprintOf(bytes),
      }
      // A process that stands still reads its requests afterwards.
      time.runIn(host, () => setTimeout(() => admitSingle(request, bytes, deps), 1))
    })
  }
}

class History {
  private readonly random: Random
  private readonly broker: InstanceType<typeof SimulatedBroker>
  private readonly model = new ReadModel()
  private readonly breakage: Breakage | undefined
  private gateways: Gateway[] = []
  private started = 0
  private isOver = false
  /** Keys whose requests had all been answered before anything failed, with what was accepted. */
  private readonly acceptedBefore = new Map<string, Set<string>>()
  private readonly accepted = new Map<string, { readonly key: string; readonly body: Body }>()

  constructor(seed: number, breakage: Breakage | undefined) {
    this.random = seededRandom(`gateways ${seed}`)
    this.broker = new SimulatedBroker(time, this.random)
    this.breakage = breakage
  }

  /** @returns what is wrong; undefined: nothing */
  async run(): Promise<string | undefined> {
    void this.recordAll()
    await Promise.all(Array.from({ length: GATEWAYS }, () => this.start([])))
    const startedAtMs = Date.now()
    const at = (ms: number): number => startedAtMs + ms
    const failing = this.breakThings(at(FAULTS_FROM_MS), at(FAULTS_UNTIL_MS))
    const senders = Array.from({ length: SENDERS }, () => this.send(at(FAULTS_FROM_MS), at(REQUESTS_UNTIL_MS)))
    await Promise.all([failing, ...senders])
    await sleep(SETTLED_AFTER_MS)
    this.broker.isFaulty = false
    const waiting = this.gateways.filter(({ deps, spool }) => deps === undefined || !spool.isEmpty)
    if (waiting.length > 0) return `${waiting.map(({ name }) => name)} still start, or hold events on disk`
    const failure = this.checkLog() ?? (await this.checkKnowledge()) ?? this.checkLog()
    this.isOver = true
    for (const { host } of this.gateways) host.kill()
    return failure
  }

  /**
   * Starts a gateway, and another one if it does not reach the broker. @param orphans the spools that its predecessors
   * left
   */
  private async start(orphans: readonly OwnSpool[]): Promise<void> {
    const gateway = new Gateway(`gw-${this.started++}`, orphans, this.random)
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
    const { broker, model, random } = this
    const { host, orphans } = gateway
    const connection = broker.connectionOf(host)
    const isBroken = (breakage: Breakage): boolean => this.breakage === breakage
    const publisher = broker.publisherOf(host)
    const isHeard = !isBroken('a spool is delivered in silence')
    const knows = !isBroken('shares are not loaded')
    if (!isHeard) void time.runIn(host, () => this.deliverInSilence(orphans, publisher))
    const opened = await time.runIn(host, () =>
      openDecisions(
        {
          broker: {
            connection,
            bucket: async () => broker.bucketOf(host, isBroken('late events are not announced')),
          },
          isBrokerUp: () => gateway.isBrokerUp,
          publisher,
          watermark: { doneOf: () => 0 },
          gatewayName: gateway.name,
          budgetExchange: { follow: () => undefined },
          partitions: PARTITIONS,
          clock: Date.now,
          log,
          onLost: () => undefined,
          stopping: host.stopping.signal,
        },
        { spool: asSpool(gateway.spool), orphans: isHeard ? orphans.map(asSpool) : [] },
        {
          history: {
            pending: () => this.pending(knows, host),
            keysSince: (slots, sinceMs) =>
              this.read(model.keys, ({ hash }) => knows && slots.includes(slotOf(hash)), sinceMs),
            eventsSince: (slots) => this.read(model.events, ({ key }) => knows && slots.includes(slotOf(key)), 0),
          },
          findKeys: async (hashes) => {
            await sleep(random.share() * 30)
            const wanted = new Set(hashes.map(hexOf))
            return new Map(
              model.keys.flatMap(({ hash, fingerprint, ...rest }) => {
                const hex = hexOf(bytesOf(hash))
                return wanted.has(hex) ? [[hex, { fingerprint: bytesOf(fingerprint), ...rest }] as const] : []
              }),
            )
          },
        },
      ),
    )
    gateway.deps = depsOf(opened, isBroken('an unsure event counts as new'))
  }

  private async deliverInSilence(spools: readonly OwnSpool[], { publish }: Publisher): Promise<void> {
    for (const spool of spools) {
      await spool.drain(async (record) => {
        while ((await publish(record.subject, record.payload, record.messageId, 1_000)).kind !== 'stored')
          await sleep(100)
        return true
      })
    }
  }

  private async *pending(knows: boolean, host: Host) {
    if (!knows) return
    const messages = await this.broker.ask(host, () => this.broker.log.slice(this.model.done))
    for (const { subject, payload, sequence } of messages) {
      if (isInvocations(subject)) yield* decodeGroup(payload, sequence)
    }
  }

  private async *read<T extends object>(rows: readonly T[], isWanted: (row: T) => boolean, sinceMs: number) {
    await sleep(this.random.share() * 200)
    const wanted = rows.filter((row) => isWanted(row) && atOf(row) >= sinceMs)
    yield {
      count: wanted.length,
      read: (i: number, into: T): void => {
        const row = wanted[i] as T
        for (const [name, value] of Object.entries(row)) {
          const place = (into as Record<string, unknown>)[name]
          if (place instanceof Int32Array) place.set(value as Int32Array)
          else (into as Record<string, unknown>)[name] = value
        }
      },
    }
  }

  /** Stage A: records keys and events in the order of the log, some time later. */
  private async recordAll(): Promise<void> {
    while (!this.isOver) {
      await sleep(50 + this.random.share() * 1_500)
      for (const { subject, payload, sequence } of this.broker.log.slice(this.model.done)) {
        for (const { id, key, receivedAtMs } of isInvocations(subject) ? decodeGroup(payload, sequence) : []) {
          if (key !== undefined) {
            const { flags } = key
            const [hash, fingerprint] = [wordsOf(key.hash), wordsOf(key.fingerprint)]
            this.model.keys.push({ hash, fingerprint, flags, admittedAtMs: receivedAtMs })
          }
          this.model.events.push({ key: eventKeyOf(id), validFromMs: Date.now() })
        }
        this.model.done = sequence
      }
    }
  }

  private async send(faultsFromMs: number, untilMs: number): Promise<void> {
    const startedAtMs = Date.now()
    while (Date.now() < untilMs) {
      await sleep(this.random.share() * 1_000)
      const newest = Math.floor((Date.now() - startedAtMs) / NEW_EVERY_MS)
      const recent = (): number => Math.max(0, newest - this.random.whole(0, SHARED - 1))
      const key = uuidOf(2, recent())
      const body = { event: recent(), form: this.random.whole(0, 3) }
      if (this.gateways.length === 0) continue
      const gateway = this.random.pick(this.gateways)
      const answered = await gateway.submit(key, body)
      if (process.env['TRACE'])
        console.error(Date.now() - START_MS, gateway.name, key, JSON.stringify(body), JSON.stringify(answered))
      if (answered?.answer !== 'accepted' && answered?.answer !== 'replayed') continue
      const text = JSON.stringify(body)
      this.accepted.set(`${key} ${text}`, { key, body })
      if (Date.now() < faultsFromMs) {
        const bodies = this.acceptedBefore.get(key) ?? new Set()
        this.acceptedBefore.set(key, bodies.add(text))
      }
    }
  }

  /** Gateways die and start again, stand still, and lose the broker, one or all of them, or two of them each other. */
  private async breakThings(fromMs: number, untilMs: number): Promise<void> {
    await sleep(fromMs - Date.now())
    this.broker.isFaulty = true
    while (Date.now() < untilMs) {
      const { random } = this
      if (this.gateways.length === 0) {
        await sleep(100)
        continue
      }
      const cutOff = this.gateways.filter(({ host }) => host.isCut)
      const gateway = random.pick(cutOff.length > 0 && random.happens(0.5) ? cutOff : this.gateways)
      const dice = random.share()
      if (dice < 0.3) void this.kill(gateway)
      else if (dice < 0.4) this.broker.sever(gateway.host, random.pick(this.gateways).host, random.share() * 8_000)
      else if (dice < 0.6) gateway.host.frozenUntilMs = Date.now() + random.share() * 8_000
      else if (dice < 0.85) gateway.cut(random.share() * 8_000, random.share() * 2_000, random.happens(0.5))
      else {
        const ms = random.share() * 6_000
        for (const each of this.gateways) each.cut(ms, random.share() * 2_000, random.happens(0.5))
      }
      await sleep(random.share() * 2_500)
    }
  }

  private async kill(gateway: Gateway): Promise<void> {
    const { orphans } = gateway
    this.end(gateway)
    const spools = [...orphans, gateway.spool].map((spool) => spool.afterDeath()).filter(({ isEmpty }) => !isEmpty)
    await sleep(this.random.share() * 8_000)
    await this.start(spools)
  }

  private end(gateway: Gateway): void {
    gateway.host.kill()
    this.broker.forget(gateway.host)
    this.gateways = this.gateways.filter((each) => each !== gateway)
  }

  /** Each 202 is in the log, and no event is kept by two partitions. */
  private checkLog(): string | undefined {
    const admitted = new Set<string>()
    const fingerprintsOf = new Map<string, Set<string>>()
    const announced = new Set<string>()
    /** Per event, the partition that keeps it. */
    const keptBy = new Map<string, number>()
    for (const { subject, payload, sequence } of this.broker.log) {
      if (subject === UNCONFIRMED_SUBJECT) {
        for (let at = 0; at < payload.length; at += UNCONFIRMED_ID_BYTES) {
          announced.add(hexOf(payload.subarray(at, at + UNCONFIRMED_ID_BYTES)))
        }
      }
      if (!isInvocations(subject)) continue
      const partition = partitionOfSubject(subject)
      for (const { id, key, isUnconfirmed } of decodeGroup(payload, sequence)) {
        const hex = hexOf(id)
        if (key !== undefined) {
          const keyHex = hexOf(key.hash)
          admitted.add(`${keyHex} ${hexOf(key.fingerprint)}`)
          const bodies = fingerprintsOf.get(keyHex) ?? new Set()
          fingerprintsOf.set(keyHex, bodies.add(hexOf(key.fingerprint)))
        }
        // Known to be stored elsewhere: it is in the log for its key alone.
        if (key !== undefined && (key.flags & WAS_DUPLICATE) !== 0) continue
        const other = keptBy.get(hex)
        if (other === undefined) keptBy.set(hex, partition)
        else if (other !== partition && isUnconfirmed !== true && !announced.has(hex)) {
          return `event ${hex} is kept by partitions ${other} and ${partition} (message ${sequence})`
        }
      }
    }
    for (const { key, body } of this.accepted.values()) {
      const hashHex = hexOf(bytesOf(hashOf(key)))
      if (!admitted.has(`${hashHex} ${hexOf(bytesOf(fingerprintOf(textOf(body))))}`)) {
        return `${key} was accepted with ${JSON.stringify(body)}, which is not in the log`
      }
      const id = invocationIdBytes(IDS, uuidBytes(uuidOf(1, body.event)))
      if (!keptBy.has(hexOf(id))) return `event ${body.event} was accepted, and no partition keeps it`
    }
    for (const [key, bodies] of this.acceptedBefore) {
      if (bodies.size > 1) return `${key} was accepted with ${[...bodies]} before anything failed`
    }
    this.settledKeys = [...this.accepted.values()].filter(
      ({ key }) => fingerprintsOf.get(hexOf(bytesOf(hashOf(key))))?.size === 1,
    )
    return undefined
  }

  /** Accepted under a key that was accepted with one body only: a fault may have let a second one through. */
  private settledKeys: readonly { readonly key: string; readonly body: Body }[] = []

  /** Every gateway knows every key and every event. */
  private async checkKnowledge(): Promise<string | undefined> {
    let fresh = 0
    for (const { key, body } of this.settledKeys) {
      for (const gateway of this.gateways) {
        const same = await this.repeat(gateway, key, body)
        if (same?.answer !== 'replayed') return `${gateway.name}: ${key} with its body is ${same?.answer}`
        const other = await this.repeat(gateway, key, { ...body, form: body.form + 4 })
        if (other?.answer !== 'conflict') return `${gateway.name}: ${key} with another body is ${other?.answer}`
        const event = await this.repeat(gateway, uuidOf(3, fresh++), { ...body, form: body.form + 8 })
        if (event?.isDuplicate !== true)
          return `${gateway.name}: event ${body.event} is ${event?.answer}, not a duplicate`
      }
    }
    return undefined
  }

  private async repeat(gateway: Gateway, key: string, body: Body): Promise<Answered | undefined> {
    for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt++) {
      const answered = await gateway.submit(key, body)
      if (answered !== undefined && answered.answer !== 'unavailable') return answered
      await sleep(500)
    }
    return undefined
  }
}

const atOf = (row: object): number => ('admittedAtMs' in row ? Number(row.admittedAtMs) : Number.MAX_SAFE_INTEGER)

const sureOf = (claims: AdmissionDeps['eventClaims']): AdmissionDeps['eventClaims'] => ({
  isAlone: false,
  areOwnersSettled: true,
  claim: (key, partition, onAnswer) =>
    claims.claim(key, partition, (answer) => onAnswer(answer === UNSURE ? FIRST : answer)),
  settled: (...settled) => claims.settled(...settled),
})

const depsOf = ({ deps }: Decisions, isAlwaysSure: boolean): AdmissionDeps => ({
  ...deps,
  eventClaims: isAlwaysSure ? sureOf(deps.eventClaims) : deps.eventClaims,
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
