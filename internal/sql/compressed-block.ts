/**
 * A text in the form in which ClickHouse compresses what it sends under `compress=1`: a checksum, a head, a block of
 * LZ4. Drivers that ask for it read errors so as well. The block is of literals alone, so that a driver that finds
 * the text in it without decompressing shows the text too.
 */
export function compressedBlock(text: string): Buffer {
  // Only the long form of the checksum is here; spaces at the end of an error are not shown.
  const literals = Buffer.from(text.padEnd(HASHED_BYTES_MIN))
  const token = Buffer.from([0xf0, ...lengthBytes(literals.length - 15)])
  const block = Buffer.alloc(HEAD_BYTES + token.length + literals.length)
  block.writeUInt8(LZ4, 0)
  block.writeUInt32LE(block.length, 1)
  block.writeUInt32LE(literals.length, 5)
  token.copy(block, HEAD_BYTES)
  literals.copy(block, HEAD_BYTES + token.length)
  return Buffer.concat([checksum(block), block])
}

const LZ4 = 0x82
const HEAD_BYTES = 9
const HASHED_BYTES_MIN = 160

/** LZ4's form of a length beyond the 15 that its token holds. */
const lengthBytes = (length: number): number[] => [...Array(Math.floor(length / 255)).fill(255), length % 255]

/** CityHash128 of its version 1.0.2, for 144 bytes and more. */
export function checksum(bytes: Buffer): Buffer {
  const [low, high] = cityHash128(bytes)
  const written = Buffer.alloc(16)
  written.writeBigUInt64LE(low, 0)
  written.writeBigUInt64LE(high, 8)
  return written
}

const K0 = 0xc3a5c85c97cb3127n
const K1 = 0xb492b66fbe98f273n
const K3 = 0xc949d7c7509e6557n
const K_MUL = 0x9ddfea08eb382d69n

const u64 = (value: bigint): bigint => BigInt.asUintN(64, value)
const rotated = (value: bigint, by: bigint): bigint => u64((value >> by) | (value << (64n - by)))

type Pair = readonly [bigint, bigint]

function hashOfTwo(u: bigint, v: bigint): bigint {
  const mixed = (value: bigint): bigint => value ^ (value >> 47n)
  const a = mixed(u64((u ^ v) * K_MUL))
  return u64(mixed(u64((v ^ a) * K_MUL)) * K_MUL)
}

function cityHash128(bytes: Buffer): Pair {
  const at = (offset: number): bigint => bytes.readBigUInt64LE(offset)
  const start = 16
  let left = bytes.length - start
  let x = at(0) ^ K3
  let y = at(8)
  let z = u64(K1 * BigInt(left))
  const v0 = u64(rotated(y ^ K1, 49n) * K1 + at(start))
  let v: Pair = [v0, u64(rotated(v0, 42n) * K1 + at(start + 8))]
  let w: Pair = [u64(rotated(u64(y + z), 35n) * K1 + x), u64(rotated(u64(x + at(start + 88)), 53n) * K1)]

  const weak = (offset: number, a: bigint, b: bigint): Pair => {
    const first = u64(a + at(offset))
    const second = rotated(u64(b + first + at(offset + 24)), 21n)
    const third = u64(first + at(offset + 8) + at(offset + 16))
    return [u64(third + at(offset + 24)), u64(second + rotated(third, 44n) + first)]
  }
  const takeHalf = (offset: number): void => {
    x = u64(rotated(u64(x + y + v[0] + at(offset + 16)), 37n) * K1) ^ w[1]
    y = u64(rotated(u64(y + v[1] + at(offset + 48)), 42n) * K1) ^ v[0]
    z = rotated(z ^ w[0], 33n)
    v = weak(offset, u64(v[1] * K1), u64(x + w[0]))
    w = weak(offset + 32, u64(z + w[1]), y)
    const taken = z
    z = x
    x = taken
  }
  let from = start
  for (; left >= 128; left -= 128, from += 128) {
    takeHalf(from)
    takeHalf(from + 64)
  }
  y = u64(y + rotated(w[0], 37n) * K0 + z)
  x = u64(x + rotated(u64(v[0] + z), 49n) * K0)
  for (let done = 32; done < left + 32; done += 32) {
    const offset = from + left - done
    y = u64(rotated(u64(y - x), 42n) * K0 + v[1])
    w = [u64(w[0] + at(offset + 16)), w[1]]
    x = u64(rotated(x, 49n) * K0 + w[0])
    w = [u64(w[0] + v[0]), w[1]]
    v = weak(offset, v[0], v[1])
  }
  x = hashOfTwo(x, v[0])
  y = hashOfTwo(y, w[0])
  return [u64(hashOfTwo(u64(x + v[1]), w[1]) + y), hashOfTwo(u64(x + w[1]), u64(y + v[1]))]
}
