import { createHash } from 'node:crypto'

/** Pseudo-random numbers: the same seed gives the same numbers on every machine. */
export interface Random {
  /** From 0, below 1. */
  share(): number
  /** Both ends included. */
  whole(min: number, max: number): number
  happens(probability: number): boolean
  /** @throws Error when the list is empty */
  pick<T>(list: readonly T[]): T
}

/** xoshiro128** by Blackman and Vigna, initialised with the SHA-256 of the seed. */
export function seededRandom(seed: string): Random {
  const digest = createHash('sha256').update(seed).digest()
  let [a, b, c, d] = [0, 4, 8, 12].map((at) => digest.readUInt32LE(at)) as [number, number, number, number]
  const next = (): number => {
    const result = Math.imul(rotate(Math.imul(b, 5), 7), 9) >>> 0
    const shifted = b << 9
    c ^= a
    d ^= b
    b ^= c
    a ^= d
    c ^= shifted
    d = rotate(d, 11)
    return result
  }
  const share = (): number => next() / 2 ** 32
  const whole = (min: number, max: number): number => min + Math.floor(share() * (max - min + 1))
  return {
    share,
    whole,
    happens: (probability) => share() < probability,
    pick: (list) => {
      if (list.length === 0) throw new Error('the list is empty')
      return list[whole(0, list.length - 1)] as (typeof list)[number]
    },
  }
}

const rotate = (value: number, bits: number): number => (value << bits) | (value >>> (32 - bits))
