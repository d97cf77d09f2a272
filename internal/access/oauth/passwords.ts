import { randomBytes, scrypt, timingSafeEqual } from 'node:crypto'

/** A password as it is kept. */
export interface StoredPassword {
  /** Hex. */
  readonly salt: string
  readonly hash: string
  /** scrypt's cost, block size and parallelism, so that they can grow without losing the old. */
  readonly n: number
  readonly r: number
  readonly p: number
}

/** OWASP's equal of N = 2^17, p = 1 at a quarter of the memory: 32 MiB, some 0.2 s of one core. */
const COST = { n: 32_768, r: 8, p: 3 } as const
const HASH_BYTES = 32
/** A longer one protects no better, and hashing it would cost an attacker nothing and us something. */
export const PASSWORD_CHARACTERS_MAX = 256
export const PASSWORD_CHARACTERS_MIN = 12

/** At most so many passwords are hashed at once: each holds 32 MiB and one of the four threads that file access shares. */
const AT_ONCE_MAX = 2
/** More than this many waiting means that somebody is guessing; the sign-in then says to come back. */
const WAITING_MAX = 16

let running = 0
const waiting: (() => void)[] = []

/** Places for one kind of work with passwords: no tenant takes them all, and they are not all there are. */
class Places {
  private readonly ofTenant = new Map<string, number>()
  private count = 0
  private readonly max: number
  private readonly maxOfTenant: number

  constructor(max: number, maxOfTenant: number) {
    this.max = max
    this.maxOfTenant = maxOfTenant
  }

  /** Works, if there is a place. @returns why not yet: `tenant_busy` is the tenant's own doing */
  async take<T>(tenantId: string, work: () => Promise<T>): Promise<T | 'busy' | 'tenant_busy'> {
    const taken = this.ofTenant.get(tenantId) ?? 0
    if (taken >= this.maxOfTenant) return 'tenant_busy'
    if (this.count >= this.max || waiting.length >= WAITING_MAX) return 'busy'
    this.ofTenant.set(tenantId, taken + 1)
    this.count++
    try {
      return await work()
    } finally {
      this.count--
      const left = (this.ofTenant.get(tenantId) ?? 1) - 1
      if (left === 0) this.ofTenant.delete(tenantId)
      else this.ofTenant.set(tenantId, left)
    }
  }
}

/** For who sets passwords: half of those that wait, so that the rest is left to who signs in; of one tenant one is hashed, one waits. */
export const placesToSet = new Places(WAITING_MAX / 2, 2)
/** For who signs in: all that the others leave, half of them at most for one tenant's people. */
export const placesToSignIn = new Places(WAITING_MAX + AT_ONCE_MAX, WAITING_MAX / 2)

/** @param password checked for its length */
export async function storePassword(password: string): Promise<StoredPassword> {
  const salt = randomBytes(16)
  const hash = await hashInTurn(password, salt, COST)
  return { salt: salt.toString('hex'), hash: hash.toString('hex'), ...COST }
}

/** What the password of an unknown person is compared with, so that it takes as long as a known one's. */
const NOBODY: StoredPassword = { salt: '00'.repeat(16), hash: '00'.repeat(HASH_BYTES), ...COST }

/** @param stored of the person; undefined when there is none: the answer is then no, after the same time */
export async function isPasswordOf(stored: StoredPassword | undefined, password: string): Promise<boolean> {
  const { salt, hash, n, r, p } = stored ?? NOBODY
  const presented = await hashInTurn(password, Buffer.from(salt, 'hex'), { n, r, p })
  return timingSafeEqual(presented, Buffer.from(hash, 'hex')) && stored !== undefined
}

async function hashInTurn(password: string, salt: Uint8Array, cost: StoredCost): Promise<Buffer> {
  // Whoever is done hands its place to the next one, so that nobody who comes meanwhile can take it.
  if (running >= AT_ONCE_MAX) await new Promise<void>((resolve) => waiting.push(resolve))
  else running++
  try {
    return await hashOf(password, salt, cost)
  } finally {
    const next = waiting.shift()
    if (next === undefined) running--
    else next()
  }
}

type StoredCost = Pick<StoredPassword, 'n' | 'r' | 'p'>

const hashOf = (password: string, salt: Uint8Array, { n, r, p }: StoredCost): Promise<Buffer> =>
  new Promise((resolve, reject) => {
    // The same letters can be typed in two ways (RFC 8265): one form for all of them.
    const text = password.normalize('NFC')
    scrypt(text, salt, HASH_BYTES, { N: n, r, p, maxmem: 256 * n * r }, (cause, hash) =>
      cause === null ? resolve(hash) : reject(cause),
    )
  })
