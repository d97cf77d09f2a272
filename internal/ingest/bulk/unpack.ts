import { type Exchange, TOO_MANY_BODIES } from '../../http/exchange.js'
import { type Problem, problem } from '../../problems/problem-catalogue.js'
import type { Unpacker } from '../bodies/content-coding.js'
import { GrowingBytes } from '../bodies/growing-bytes.js'

export type Unpacked = { readonly ok: true; readonly bytes: Buffer } | { readonly ok: false; readonly problem: Problem }

/** Whose body it is. */
export type UnpackingFor = Pick<Exchange, 'hold' | 'release' | 'isSettled'>

/**
 * Unpacks a body, off the event loop where Node can. Stops at the limit: a bomb costs no more than a body that is
 * allowed.
 *
 * @param bytes must not change until this has settled
 * @param bytesMax of the unpacked body
 * @param request holds what the body is unpacked to, as it comes; unpacking stops once its sender has disconnected
 * @returns MALFORMED_REQUEST or PAYLOAD_TOO_LARGE when it is refused, RATE_LIMITED without memory for it
 */
export function unpack(bytes: Buffer, unpacker: Unpacker, bytesMax: number, request: UnpackingFor): Promise<Unpacked> {
  return new Promise((resolve) => {
    if (!request.hold(unpacker.bytes)) return resolve({ ok: false, problem: TOO_MANY_BODIES })
    const unpacking = unpacker.create()
    const unpacked = new GrowingBytes()
    let isEnded = false
    const end = (result: Unpacked): void => {
      if (isEnded) return
      isEnded = true
      unpacking.destroy()
      request.release(unpacker.bytes)
      resolve(result)
    }
    const refuse = (what: Problem): void => end({ ok: false, problem: what })
    unpacking.on('data', (chunk: Buffer) => {
      if (unpacked.length + chunk.length > bytesMax || request.isSettled) return refuse(tooLong(bytesMax))
      if (!request.hold(chunk.length)) return refuse(TOO_MANY_BODIES)
      unpacked.add(chunk)
    })
    unpacking.on('error', () => refuse(BROKEN))
    unpacking.on('end', () => {
      // zlib ignores what comes behind its stream: the sender would believe it taken.
      const { bytesWritten = bytes.length } = unpacking as { bytesWritten?: number }
      if (bytesWritten !== bytes.length) return refuse(BROKEN)
      end({ ok: true, bytes: unpacked.written })
    })
    unpacking.end(bytes)
  })
}

const BROKEN = problem(
  'MALFORMED_REQUEST',
  'The body is not what its Content-Encoding says, is truncated, or goes on behind its end.',
)

const tooLong = (bytesMax: number): Problem =>
  problem('PAYLOAD_TOO_LARGE', `The unpacked body may have at most ${bytesMax} bytes.`)
