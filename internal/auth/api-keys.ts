import { createHash, createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import { encodeBase32 } from '../ids/base32.js'
import { randomId, type TenantIds } from '../ids/ids.js'
import type { Billing } from './billing.js'
import type { Scope } from './scopes.js'

/** Production and sandbox refuse each other's keys by their prefix. */
export type Mode = 'production' | 'sandbox'
const PREFIX: Record<Mode, string> = { production: 'ak_live_', sandbox: 'ak_test_' }

/** The stored form of a key, under its id in the bucket `api_keys`. It does not contain the secret itself. */
export interface StoredApiKey {
  readonly id: string
  readonly tenant_id: string
  readonly name: string
  readonly scopes: readonly Scope[]
  /** Layers whose events the key may ingest; absent: all. */
  readonly ingestion_layers?: readonly string[]
  /** False: costs that it states do not count. Absent: they do. */
  readonly trusts_cost?: boolean
  /** True: a gateway holds the key, whose word on who called counts. Absent: it does not. */
  readonly is_gateway?: boolean
  /** Who pays for calls that do not say it. Absent: auto. */
  readonly billing?: Billing
  /** Hex; the hash is HMAC-SHA-256 of the secret under the salt. */
  readonly salt: string
  readonly hash: string
  readonly last_four: string
  readonly status: 'active' | 'revoked'
  readonly created_at: string
  /** Null: never. */
  readonly expires_at: string | null
  readonly revoked_at?: string
  /** Id of the key that replaced it in a rotation. */
  readonly replaced_by?: string
}

export interface WantedApiKey {
  readonly name: string
  readonly scopes: readonly Scope[]
  readonly expiresAt: string | null
  /** Absent: all. */
  readonly ingestionLayers?: readonly string[] | undefined
  /** Whether costs that it states count. Absent: they do. */
  readonly trustsCost?: boolean | undefined
  /** Whether a gateway holds it. Absent: no. */
  readonly isGateway?: boolean | undefined
  /** Who pays for calls that do not say it. Absent: auto. */
  readonly billing?: Billing | undefined
}

const SECRET_BYTES = 32
const SECRET_CHARACTERS = 52
const CHECKSUM_CHARACTERS = 6
const KEY = /^(ak_live_|ak_test_)([0-9a-z]{26})_([0-9a-z]{52})([0-9a-z]{6})$/

export interface NewApiKey {
  readonly stored: StoredApiKey
  /** The complete key, shown only once. */
  readonly secret: string
}

/** A key with a new id and secret. */
export function createApiKey(
  mode: Mode,
  tenantId: string,
  ids: TenantIds,
  wanted: WantedApiKey,
  createdAt: Date,
): NewApiKey {
  const id = randomId('key', ids)
  const secret = formatApiKey(mode, id, randomBytes(SECRET_BYTES))
  return { secret, stored: storedApiKey(id, secret, tenantId, wanted, createdAt) }
}

/** The complete key in the form that its user receives. @param secret 32 random bytes */
export function formatApiKey(mode: Mode, id: string, secret: Uint8Array): string {
  const unchecked = `${PREFIX[mode]}${id.slice('key_'.length)}_${encodeBase32(secret)}`
  return unchecked + checksum(unchecked)
}

/** @param whole as `formatApiKey` gives it */
export const storedApiKey = (
  id: string,
  whole: string,
  tenantId: string,
  { name, scopes, expiresAt, ingestionLayers, trustsCost = true, isGateway = false, billing }: WantedApiKey,
  createdAt: Date,
): StoredApiKey => ({
  id,
  tenant_id: tenantId,
  name,
  scopes,
  ...(ingestionLayers && { ingestion_layers: ingestionLayers }),
  ...(!trustsCost && { trusts_cost: false }),
  ...(isGateway && { is_gateway: true }),
  ...(billing !== undefined && { billing }),
  ...storeSecret(whole.slice(-SECRET_CHARACTERS - CHECKSUM_CHARACTERS, -CHECKSUM_CHARACTERS)),
  last_four: whole.slice(-4),
  status: 'active',
  created_at: createdAt.toISOString(),
  expires_at: expiresAt,
})

/** The id that a presented text claims, and the secret to check. */
export interface PresentedApiKey {
  readonly id: string
  readonly secret: string
}

/** @returns undefined for a text that no instance of this mode can have issued: wrong form, checksum or mode */
export function parseApiKey(mode: Mode, text: string): PresentedApiKey | undefined {
  const match = KEY.exec(text)
  if (match === null || match[1] !== PREFIX[mode]) return undefined
  const [, , id, secret, check] = match
  if (id === undefined || secret === undefined || check === undefined) return undefined
  if (checksum(text.slice(0, -CHECKSUM_CHARACTERS)) !== check) return undefined
  return { id: `key_${id}`, secret }
}

/** The stored form of a secret. */
export function storeSecret(secret: string): Pick<StoredApiKey, 'salt' | 'hash'> {
  const salt = randomBytes(16)
  return { salt: salt.toString('hex'), hash: hashSecret(salt, secret).toString('hex') }
}

export const isSecretOf = (stored: Pick<StoredApiKey, 'salt' | 'hash'>, secret: string): boolean =>
  timingSafeEqual(hashSecret(Buffer.from(stored.salt, 'hex'), secret), Buffer.from(stored.hash, 'hex'))

const hashSecret = (salt: Uint8Array, secret: string): Buffer => createHmac('sha256', salt).update(secret).digest()

/** Detects a mistyped key without a look-up, and lets secret scanners recognise our keys. */
const checksum = (text: string): string =>
  encodeBase32(createHash('sha256').update(text).digest()).slice(0, CHECKSUM_CHARACTERS)
