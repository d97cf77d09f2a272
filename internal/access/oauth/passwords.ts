import { randomBytes, scrypt, timingSafeEqual } from 'node:crypto'
import { Limiter, LimiterPerKey } from '../../process/limiter.js'

/** The stored form of a password. */
export interface StoredPassword {
  /** Hex. */
  readonly salt: string
  readonly hash: string
  /** scrypt's cost, block size and parallelism, so that they can be raised and old hashes still verify. */
  readonly n: number
  readonly r: number
  readonly p: number
}

/** OWASP's equivalent of N = 2^17, p = 1 with a quarter of the memory: 32 MiB, about 0.2 s of one core. */
const COST = { n: 32_768, r: 8, p: 3 } as const
const HASH_BYTES = 32
/** A longer password protects no better, and hashing it would cost us time and an attacker none. */
export const PASSWORD_CHARACTERS_MAX = 256
export const PASSWORD_CHARACTERS_MIN = 12

/** Passwords that are hashed at a time: each takes 32 MiB and one of the four threads that file access shares. */
const HASHING_MAX = 2
/**
 * More than this many waiting means that somebody guesses passwords; further sign-ins are refused and retried later.
 */
const WAITING_MAX = 16

const hashing = new Limiter(HASHING_MAX)
const NO_WAIT = { waitingMax: 0 } as const

/** Bounds one kind of password work, in total and per tenant, so that no tenant uses all of it. Nothing waits here. */
class PasswordSlots {
  private readonly inTotal: Limiter
  private readonly perTenant: LimiterPerKey

  constructor(max: number, maxPerTenant: number) {
    this.inTotal = new Limiter(max)
    this.perTenant = new LimiterPerKey(maxPerTenant)
  }

  /** @returns `tenant_busy` when the tenant uses all of its slots, `busy` when all tenants together do */
  async run<T>(tenantId: string, work: () => Promise<T>): Promise<T | 'busy' | 'tenant_busy'> {
    const ofTenant = await this.perTenant.tryRun(
      tenantId,
      async () => (hashing.waiting < WAITING_MAX ? this.inTotal.tryRun(work, NO_WAIT) : undefined),
      NO_WAIT,
    )
    if (ofTenant === undefined) return 'tenant_busy'
    return ofTenant.value === undefined ? 'busy' : ofTenant.value.value
  }
}

/**
 * To set a password: half of those that may wait, so that sign-ins have the rest. Per tenant, one is hashed and one
 * waits.
 */
export const slotsToSet = new PasswordSlots(WAITING_MAX / 2, 2)
/** To sign in: all that may run or wait, of which one tenant's people use at most half. */
export const slotsToSignIn = new PasswordSlots(WAITING_MAX + HASHING_MAX, WAITING_MAX / 2)

/** @param password of a valid length */
export async function storePassword(password: string): Promise<StoredPassword> {
  const salt = randomBytes(16)
  const hash = await hashing.run(() => hashOf(password, salt, COST))
  return { salt: salt.toString('hex'), hash: hash.toString('hex'), ...COST }
}

/** The password of an unknown person is compared with this, so that the check takes as long as for a known one. */
const UNKNOWN_PERSON: StoredPassword = { salt: '00'.repeat(16), hash: '00'.repeat(HASH_BYTES), ...COST }

/** @param stored undefined for an unknown person: the result is then false, after the same time */
export async function isPasswordOf(stored: StoredPassword | undefined, password: string): Promise<boolean> {
  const { salt, hash, n, r, p } = stored ?? UNKNOWN_PERSON
  const presented = await hashing.run(() => hashOf(password, Buffer.from(salt, 'hex'), { n, r, p }))
  return timingSafeEqual(presented, Buffer.from(hash, 'hex')) && stored !== undefined
}

type StoredCost = Pick<StoredPassword, 'n' | 'r' | 'p'>

const hashOf = (password: string, salt: Uint8Array, { n, r, p }: StoredCost): Promise<Buffer> =>
  new Promise((resolve, reject) => {
    // The same characters can be typed in two ways (RFC 8265): normalize them.
    const text = password.normalize('NFC')
    scrypt(text, salt, HASH_BYTES, { N: n, r, p, maxmem: 256 * n * r }, (cause, hash) =>
      cause === null ? resolve(hash) : reject(cause),
    )
  })
