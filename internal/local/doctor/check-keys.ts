import { X509Certificate } from 'node:crypto'
import { readFileSync } from 'node:fs'
import type { KV } from '@nats-io/kv'
import { API_KEYS, SIGNING_KEYS } from '../../../streams/buckets.js'
import type { StoredApiKey } from '../../auth/api-keys.js'
import type { Broker } from '../../broker/connect.js'
import { readMasterKeys } from '../../secrets/master-keys.js'
import { unseal } from '../../secrets/seal.js'
import { type Finding, failure, graded, ok, warning } from './finding.js'

const DAY_MS = 24 * 60 * 60 * 1_000
/** Certificates of automatic authorities are renewed a month before their end. */
const CERTIFICATE_DAYS = { warning: 21, failure: 3 }
const API_KEY_DAYS = 14
const MASTER_KEY_AGE_DAYS = { warningFrom: 365, failureFrom: Number.POSITIVE_INFINITY }

export interface KeySettings {
  readonly masterKey: string
  readonly masterKeyFile: string
  readonly tlsCertFile: string
}

/** Master key, API keys that are about to expire, the certificate of the API. */
export async function* checkKeys(broker: Broker, settings: KeySettings, nowMs: number): AsyncGenerator<Finding> {
  const signing = await broker.bucket(SIGNING_KEYS)
  yield await checkMasterKey(signing, settings)
  yield* await checkAge(signing, nowMs)
  yield await checkApiKeys(await broker.bucket(API_KEYS), nowMs)
  if (settings.tlsCertFile !== '') yield checkCertificate(settings.tlsCertFile, nowMs)
}

/** The instance has this key since its first start. */
const ANY_SIGNING_KEY = 'ids'

async function checkMasterKey(signing: KV, settings: KeySettings): Promise<Finding> {
  if (settings.masterKey === '' && settings.masterKeyFile === '') {
    return ok('master key', 'not checked: neither ATTRIBUTION_MASTER_KEY nor a file is set here')
  }
  const sealed = await signing.get(ANY_SIGNING_KEY)
  if (sealed === null) return ok('master key', 'seals nothing yet')
  try {
    unseal(readMasterKeys(settings), `signing_keys.${ANY_SIGNING_KEY}`, sealed.string())
    return ok('master key', 'opens the keys of the instance')
  } catch (cause) {
    return failure(
      'master key',
      `${(cause as Error).message}: no role can start. Restore the key that sealed this data`,
    )
  }
}

/** Whenever the master key is rotated, everything is sealed again. */
async function checkAge(signing: KV, nowMs: number): Promise<Finding[]> {
  const sealed = await signing.get(ANY_SIGNING_KEY)
  if (sealed === null) return []
  const days = Math.floor((nowMs - sealed.created.getTime()) / DAY_MS)
  const seen = `in use for ${days} days`
  return [graded('age of the master key', days, MASTER_KEY_AGE_DAYS, seen, 'run `attribution master-key rotate`')]
}

async function checkApiKeys(bucket: KV, nowMs: number): Promise<Finding> {
  const soon: string[] = []
  let active = 0
  for await (const id of await bucket.keys()) {
    const entry = await bucket.get(id)
    if (entry?.operation !== 'PUT') continue
    const { status, expires_at: expiresAt } = entry.json<StoredApiKey>()
    const leftMs = expiresAt === null ? Number.POSITIVE_INFINITY : Date.parse(expiresAt) - nowMs
    if (status !== 'active' || leftMs <= 0) continue
    active++
    if (leftMs < API_KEY_DAYS * DAY_MS) soon.push(`${id} (${Math.ceil(leftMs / DAY_MS)} days)`)
  }
  if (soon.length === 0) return ok('API keys', `${active} active, none expires within ${API_KEY_DAYS} days`)
  const others = soon.length > 3 ? ` and ${soon.length - 3} more` : ''
  return warning('API keys', `${soon.slice(0, 3).join(', ')}${others} expire soon: replace them`)
}

/** @param file PEM; its first certificate is the server's */
export function checkCertificate(file: string, nowMs: number): Finding {
  let certificate: X509Certificate
  try {
    certificate = new X509Certificate(readFileSync(file))
  } catch (cause) {
    return failure('certificate', `${file} cannot be read as a certificate: ${(cause as Error).message}`)
  }
  const days = Math.floor((Date.parse(certificate.validTo) - nowMs) / DAY_MS)
  if (days < 0) return failure('certificate', `expired on ${certificate.validTo}: clients refuse it. Renew it`)
  const seen = `valid until ${certificate.validTo}, ${days} days`
  if (days >= CERTIFICATE_DAYS.warning) return ok('certificate', seen)
  return {
    check: 'certificate',
    status: days < CERTIFICATE_DAYS.failure ? 'failure' : 'warning',
    detail: `${seen}: renew it`,
  }
}
