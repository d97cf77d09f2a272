/** A gateway that accepts events; the test supplies everything behind its log. */

import { setImmediate as nextTurn } from 'node:timers/promises'
import { serve } from '../../internal/http/server.js'
import { deriveTenantIds } from '../../internal/ids/ids.js'
import { bytesOf, hashIdempotencyKey, hexOf } from '../../internal/ids/key-hash.js'
import type { AdmissionDeps } from '../../internal/ingest/admission/admission.js'
import type { Answer } from '../../internal/ingest/admission/answers.js'
import type { BulkRecord } from '../../internal/ingest/bulk/bulk-outcomes.js'
import { GroupCommit } from '../../internal/ingest/commit/group-commit.js'
import type { Commit } from '../../internal/ingest/commit/log-writer.js'
import { admissionRoutes } from '../../internal/ingest/invocation-routes.js'
import { BodyFingerprint } from '../../internal/ingest/keys/body-fingerprint.js'
import { InFlight } from '../../internal/ingest/keys/in-flight.js'
import { createKeyConfirmation } from '../../internal/ingest/keys/key-confirmation.js'
import { OwnCalls } from '../../internal/ingest/keys/own-calls.js'
import { RecentEvents } from '../../internal/ingest/keys/recent-events.js'
import { type ObservationRecord, observationRoutes } from '../../internal/ingest/observations/observation-routes.js'
import { PendingCounts } from '../../internal/ingest/received/pending-counts.js'
import { AdmissionIndex } from '../../internal/repeats/admission-index.js'
import { createLog, type Logger } from '../../internal/telemetry/log.js'
import { type Posted, postTo } from './gateway.js'
import { scopeKeys, TENANT } from './scope-keys.js'

export interface AdmissionGatewayOptions {
  /** Where events go; two partitions are configured, and the lane is the third. */
  readonly lane?: AdmissionDeps['lane']
  /** Keys and bodies that only the read model knows. */
  readonly recorded?: readonly { readonly key: string; readonly body: string; readonly flags: number }[]
  readonly ingestPerSecond?: number
  /** The log stores nothing. */
  readonly isLogAway?: boolean
  /** What the log answers to its messages, in order; afterwards it stores them. */
  readonly commits?: readonly Commit[]
  /** Default: silent. */
  readonly log?: Logger
  /** Default: the real one. */
  readonly clock?: () => number
  /** Awaited by each lookup in the read model. */
  readonly onLookup?: () => Promise<void>
  /** The log replies to nothing before `release`. */
  readonly isLogHeld?: boolean
}

export interface AdmissionGateway {
  readonly port: number
  /** For other listeners that admit events. */
  readonly admission: AdmissionDeps
  /** What it counts as received. */
  readonly received: PendingCounts
  post(body: string | Buffer, key: string | undefined, headers?: Record<string, string>, path?: string): Promise<Posted>
  /** Messages that the log holds. */
  readonly stored: readonly Uint8Array[]
  /** Their subjects. */
  readonly subjects: readonly string[]
  release(): void
  /** Records stored per key, by the hex of the key's hash. */
  readonly records: Map<string, BulkRecord | ObservationRecord>
  /** How often a record was looked up. */
  lookups(): number
  /** Resolves when this many requests wait for another one with the same key. */
  waiting(count: number): Promise<void>
  /** Resolves when this many keys are in flight. */
  untilInFlight(count: number): Promise<void>
  stop(): Promise<void>
}

const SECRET = new Uint8Array(32).fill(7)
const DAY_MS = 24 * 60 * 60 * 1000
const index = (): AdmissionIndex =>
  new AdmissionIndex({
    windowMs: DAY_MS,
    periodMs: DAY_MS,
    exactKeysMax: 1_000,
    hasFingerprint: true,
    filterBitsPerKey: 16,
    filterBytesMax: () => Number.POSITIVE_INFINITY,
  })

export async function startAdmissionGateway(options: AdmissionGatewayOptions = {}): Promise<AdmissionGateway> {
  const { recorded, ingestPerSecond = 10_000, log = createLog('test', 'silent') } = options
  const commits = [...(options.commits ?? [])]
  const stored: Uint8Array[] = []
  const subjects: string[] = []
  let release = (): void => undefined
  const released = new Promise<void>((resolve) => {
    release = resolve
  })
  if (options.isLogHeld !== true) release()
  const records = new Map<string, BulkRecord | ObservationRecord>()
  let lookups = 0
  const ids = deriveTenantIds(SECRET, TENANT)
  const writer = {
    async store(subject: string, payload: Uint8Array): Promise<Commit> {
      await released
      if (options.isLogAway === true) return { kind: 'unavailable', detail: 'The log is unavailable.' }
      const commit = commits.shift() ?? { kind: 'stored' }
      if (commit.kind !== 'stored') return commit
      stored.push(Uint8Array.from(payload))
      subjects.push(subject)
      return commit
    },
    storeKeys: async () => undefined,
    close: async () => undefined,
  }
  const fingerprints = new BodyFingerprint(SECRET.subarray(0, 16))
  const findRecorded = async () => {
    await options.onLookup?.()
    return new Map(
      (recorded ?? []).map(({ key, body, flags }) => {
        const [hash, fingerprint] = [new Int32Array(4), new Int32Array(2)]
        hashIdempotencyKey(ids.sip, 0, key, hash)
        fingerprints.of(Buffer.from(body), fingerprint)
        const admittedAtMs = Date.now()
        return [hexOf(hash), { fingerprint: bytesOf(fingerprint), flags, admittedAtMs }]
      }),
    )
  }
  const keys = index()
  const inFlight = new InFlight<Answer>({ keysMax: 1_000, waitingMax: 1_000, clock: () => 0 })
  const received = new PendingCounts()
  const admission = {
    keys,
    missingKeys: { arePossible: () => recorded !== undefined },
    recentEvents: new RecentEvents(),
    ownCalls: new OwnCalls(),
    onKeyConflict: () => undefined,
    inFlight,
    fingerprints,
    confirmation: createKeyConfirmation(findRecorded, Date.now, log),
    groups: new GroupCommit(writer, 2),
    tenantShares: { count: () => undefined, refusal: () => undefined },
    lane: options.lane ?? { partitionFor: (_, own) => own, count: () => undefined },
    partitions: 2,
    idsOf: () => ids,
    keyHashingOf: () => ids.sip,
    isDiscoveryOnly: () => false,
    retainedFromMs: () => Date.UTC(2020, 0, 1),
    received,
    clock: options.clock ?? Date.now,
    log,
  }
  const kept = <T extends BulkRecord | ObservationRecord>() => ({
    async findRecord(keyHex: string) {
      lookups++
      await options.onLookup?.()
      return records.get(keyHex) as T | undefined
    },
    keepRecord: async (keyHex: string, record: T) => void records.set(keyHex, record),
  })
  const server = await serve(
    { host: '127.0.0.1', port: 0, errorDocsUrl: 'http://localhost/docs/errors' },
    [
      ...admissionRoutes({ ...admission, ...kept<BulkRecord>() }),
      ...observationRoutes({
        ...admission,
        ...kept<ObservationRecord>(),
        writer,
        messageOf: () => ({ subject: 'observations', payload: new Uint8Array(1) }),
      }),
    ],
    {
      authenticator: scopeKeys({ ingest: ingestPerSecond }),
      credentialsAwayMs: () => 0,
      log,
    },
  )
  return {
    port: server.port,
    admission,
    received,
    post: (body, key, headers = {}, path = '/api/v1/invocations') =>
      postTo(`http://127.0.0.1:${server.port}${path}`, 'read:attribution', body, key, headers),
    stored,
    subjects,
    release,
    records,
    lookups: () => lookups,
    async waiting(count) {
      while (inFlight.waiting !== count) await nextTurn()
    },
    async untilInFlight(count) {
      while (inFlight.keys !== count) await nextTurn()
    },
    stop: () => server.drain(),
  }
}
