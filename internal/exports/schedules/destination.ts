import { Agent } from 'node:https'
import { isIP, isIPv4, type LookupFunction } from 'node:net'
import { rootCertificates } from 'node:tls'
import type { S3Client } from '@aws-sdk/client-s3'
import type { Guard } from '../../outbound/address-guard.js'
import { readTarget, type TargetRules } from '../../outbound/target-url.js'
import type { DeliveryFailure } from '../../records/delivery-failures.js'
import type { MasterKeys } from '../../secrets/master-keys.js'
import { statusOf } from '../blobs/failures.js'
import { boundAnswers, PATIENCE } from '../blobs/s3-answers.js'
import { type Schedule, secretOf } from './schedule.js'
import type { TestResult } from './schedule-contract.js'

/** A tenant's own bucket, for one delivery. */
export interface Destination {
  /** Writes an object. @throws DestinationFailed, or the error of `parts` */
  put(key: string, parts: AsyncIterable<Uint8Array>, signal: AbortSignal): Promise<void>
  /** @throws DestinationFailed */
  remove(key: string, signal: AbortSignal): Promise<void>
  close(): void
}

/**
 * Carries no cause: the answer of a foreign server, which may repeat parts of the request, is neither logged nor
 * returned.
 */
export class DestinationFailed extends Error {
  readonly reason: DeliveryFailure
  /** HTTP status; null without a response. */
  readonly status: number | null

  constructor(reason: DeliveryFailure, status: number | null = null) {
    super(`the bucket failed: ${reason}`)
    this.reason = reason
    this.status = status
  }
}

export interface DestinationDeps {
  readonly masterKeys: MasterKeys
  readonly targetRules: TargetRules
  readonly guard: Guard
  /** PEM of authorities that are trusted in addition to the public ones. */
  readonly extraCa: string | undefined
}

const ATTEMPTS = 2

/**
 * Opens the bucket of a schedule. As for webhooks, the rules for its address are checked again, each connection goes to
 * an address that was just checked, and redirects are not followed.
 *
 * @throws DestinationFailed
 */
export async function openDestination(schedule: Schedule, deps: DestinationDeps): Promise<Destination> {
  const { endpoint, region, bucket, path_style: isPathStyle, access_key_id: accessKeyId } = schedule.destination
  const target = readTarget(endpoint, deps.targetRules)
  if (typeof target === 'string') throw new DestinationFailed('address_not_allowed')
  const checked = await deps.guard.check(target.hostname)
  if (checked.kind !== 'allowed') throw new DestinationFailed(reasonOfCheck(checked.kind))

  const { CHECKSUMS, writeObject } = await import('../blobs/s3-upload.js')
  const { DeleteObjectCommand, S3Client } = await import('@aws-sdk/client-s3')
  const agent = new Agent({
    keepAlive: true,
    minVersion: 'TLSv1.2',
    lookup: checkedLookup(deps.guard),
    ...(deps.extraCa !== undefined && { ca: [...rootCertificates, deps.extraCa] }),
  })
  const client: S3Client = new S3Client({
    endpoint,
    region,
    // An address has no subdomains.
    forcePathStyle: isPathStyle || isIP(target.hostname) !== 0,
    credentials: { accessKeyId, secretAccessKey: secretOf(deps.masterKeys, schedule) },
    maxAttempts: ATTEMPTS,
    requestHandler: { httpsAgent: agent, ...PATIENCE },
    ...CHECKSUMS,
  })
  boundAnswers(client)
  const of = (key: string) => ({ Bucket: bucket, Key: key })
  const sending = async (work: Promise<unknown>): Promise<void> => {
    await work.catch((cause: unknown) => {
      throw failureOf(cause)
    })
  }
  return {
    async put(key, parts, signal) {
      // An error of the source is its own, whatever the client makes of it.
      const source: { failure?: Error } = {}
      await sending(writeObject(client, of(key), rememberingFailure(parts, source), signal)).catch((cause: unknown) => {
        throw source.failure ?? cause
      })
    },
    remove: (key, signal) => sending(client.send(new DeleteObjectCommand(of(key)), { abortSignal: signal })),
    close() {
      client.destroy()
      agent.destroy()
    },
  }
}

async function* rememberingFailure(parts: AsyncIterable<Uint8Array>, source: { failure?: Error }) {
  try {
    yield* parts
  } catch (cause) {
    source.failure = cause as Error
    throw cause
  }
}

const reasonOfCheck = (kind: 'disallowed' | 'unresolved'): DeliveryFailure =>
  kind === 'disallowed' ? 'address_not_allowed' : 'host_unresolved'

/**
 * Resolves a host for a new connection, which is then made to the checked address. The host may be the bucket's
 * subdomain.
 */
function checkedLookup(guard: Guard): LookupFunction {
  return (hostname, options, callback) => {
    void Promise.resolve(guard.check(hostname)).then((checked) => {
      if (checked.kind !== 'allowed') {
        return callback(Object.assign(new Error(checked.kind), { code: CODE_OF_CHECK[checked.kind] }), [])
      }
      // IPv4 first: many networks still have no IPv6 route.
      const all = checked.addresses
        .map((address) => ({ address, family: isIPv4(address) ? 4 : 6 }))
        .sort((one, other) => one.family - other.family)
      if (options.all === true) return callback(null, all)
      const [first] = all
      callback(null, first?.address ?? '', first?.family)
    })
  }
}

const CODE_OF_CHECK = { disallowed: 'ADDRESS_DISALLOWED', unresolved: 'ADDRESS_UNRESOLVED' } as const

/** Decided by the error's code or status, never by its message, which is the server's or the library's. */
function failureOf(cause: unknown): DestinationFailed {
  if (cause instanceof DestinationFailed) return cause
  const { name, code } = cause as { readonly name?: string; readonly code?: string }
  const status = statusOf(cause)
  if (status !== undefined) return new DestinationFailed(reasonOfStatus(status), status)
  if (code === CODE_OF_CHECK.disallowed) return new DestinationFailed('address_not_allowed')
  if (code === CODE_OF_CHECK.unresolved) return new DestinationFailed('host_unresolved')
  if (name === 'TimeoutError' || name === 'AbortError' || code === 'ETIMEDOUT') return new DestinationFailed('timeout')
  const isTls = /^(?:ERR_TLS|ERR_SSL|EPROTO|CERT_|UNABLE_TO_|SELF_SIGNED|DEPTH_ZERO|HOSTNAME_|INVALID_CA)/.test(
    code ?? '',
  )
  return new DestinationFailed(isTls ? 'tls' : 'connection')
}

function reasonOfStatus(status: number): DeliveryFailure {
  if (status >= 300 && status < 400) return 'redirected'
  if (status === 401 || status === 403) return 'access_denied'
  return status === 404 ? 'no_such_bucket' : 'bucket_error'
}

const PROBE_MS_MAX = 15_000

/** Writes a small object to the bucket of a schedule and deletes it. */
export async function probe(
  schedule: Schedule,
  openDestination: (schedule: Schedule) => Promise<Destination>,
): Promise<TestResult> {
  const signal = AbortSignal.timeout(PROBE_MS_MAX)
  const { prefix } = schedule.destination
  const key = `${prefix === '' ? '' : `${prefix}/`}${schedule.id}/probe.txt`
  let destination: Destination | undefined
  try {
    destination = await openDestination(schedule)
    await destination.put(key, textOf('probe\n'), signal)
    const isRemoved = await destination.remove(key, signal).then(
      () => true,
      () => false,
    )
    return { status: 'succeeded', reason: null, response_status: null, probe_removed: isRemoved }
  } catch (cause) {
    if (!(cause instanceof DestinationFailed)) throw cause
    return { status: 'failed', reason: cause.reason, response_status: cause.status, probe_removed: false }
  } finally {
    destination?.close()
  }
}

async function* textOf(text: string): AsyncGenerator<Uint8Array> {
  yield Buffer.from(text)
}
