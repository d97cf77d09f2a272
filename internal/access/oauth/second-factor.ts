import { Secret, TOTP } from 'otpauth'
import type { Records } from '../../broker/records.js'
import type { MasterKeys } from '../../secrets/master-keys.js'
import { seal, unseal } from '../../secrets/seal.js'
import { type StoredUser, userKey } from './users.js'

/**
 * A person's second factor: six digits from an authenticator app, by time (TOTP, RFC 6238: SHA-1, 30 seconds). The
 * secret is sealed at rest, and a code is accepted once.
 */

const ISSUER = 'Attribution Service'
const STEP_S = 30
/** Codes that are accepted besides the current one, before and after it: clocks differ. */
const WINDOW_STEPS = 1
/** RFC 4226 section 4 recommends 160 bits. */
const SECRET_BYTES = 20

/** @returns base32 */
export const newSecret = (): string => new Secret({ size: SECRET_BYTES }).base32

const totpOf = (secret: string, label = ''): TOTP =>
  new TOTP({ issuer: ISSUER, label, secret: Secret.fromBase32(secret), digits: 6, period: STEP_S })

/** The address that an authenticator app reads from a QR code. */
export const setUpAddress = (secret: string, username: string): string => totpOf(secret, username).toString()

/** @returns the step whose code it is; undefined for a wrong one */
export function stepOf(secret: string, code: string, nowMs: number): number | undefined {
  const token = code.replace(/\s/g, '')
  if (!/^\d{6}$/.test(token)) return undefined
  const delta = totpOf(secret).validate({ token, timestamp: nowMs, window: WINDOW_STEPS })
  return delta === null ? undefined : Math.floor(nowMs / 1_000 / STEP_S) + delta
}

export interface SecondFactors {
  /** Whether the person needs a code: the tenant wants it, or they have set one up. */
  isAskedOf(user: StoredUser): boolean
  /**
   * Accepts a code, once.
   *
   * @param fresh the secret that the person is setting up; it becomes theirs unless they have one already
   */
  accepts(user: StoredUser, code: string, fresh: string | undefined, nowMs: number): Promise<boolean>
}

export interface SecondFactorDeps {
  readonly users: Pick<Records<StoredUser>, 'change'>
  readonly masterKeys: MasterKeys
  readonly isRequired: (tenantId: string) => boolean
}

export function secondFactors({ users, masterKeys, isRequired }: SecondFactorDeps): SecondFactors {
  const stored = ({ id, second_factor: factor }: StoredUser): string | undefined =>
    factor && unseal(masterKeys, contextOf(id), factor.sealed_secret).toString('utf8')

  return {
    isAskedOf: (user) => user.second_factor !== undefined || isRequired(user.tenant_id),

    async accepts(user, code, fresh, nowMs) {
      let isAccepted = false
      await users.change(userKey(user.tenant_id, user.username), (current) => {
        isAccepted = false
        if (current.id !== user.id) return undefined
        const secret = stored(current) ?? fresh
        const step = secret === undefined ? undefined : stepOf(secret, code, nowMs)
        if (secret === undefined || step === undefined || step <= (current.second_factor?.used_step ?? 0))
          return undefined
        isAccepted = true
        const sealed = current.second_factor?.sealed_secret ?? seal(masterKeys, contextOf(user.id), Buffer.from(secret))
        return { ...current, second_factor: { sealed_secret: sealed, used_step: step } }
      })
      return isAccepted
    },
  }
}

const contextOf = (userId: string): string => `second_factor.${userId}`
