import { UUID_CHARACTERS, writeUuid } from './ids.js'
import { SHA1_PADDING_BYTES_MAX, sha1 } from './sha1.js'

/** A random UUID of ours, in which all names are. */
const NAMESPACE = Buffer.from('6f4e1d3cb5a94f0e8c0b7d52a9e3f681', 'hex')
const NAMESPACE_BYTES = NAMESPACE.length

/** Namespace, name and padding, for names of usual length. */
const usual = Buffer.alloc(1_024)
NAMESPACE.copy(usual)

/**
 * UUID version 5 of a name (RFC 9562 section 5.5): the same name has the same UUID, on every gateway and after every
 * restart.
 */
export function uuid5(name: string): string {
  const bytesMax = NAMESPACE_BYTES + name.length * 3 + SHA1_PADDING_BYTES_MAX
  const bytes = bytesMax <= usual.length ? usual : Buffer.concat([NAMESPACE], bytesMax)
  const digest = sha1(bytes, writeName(name, bytes))
  for (let i = 0; i < 16; i++) uuid[i] = (digest[i >> 2] as number) >>> (24 - 8 * (i & 3))
  uuid[6] = ((uuid[6] as number) & 0x0f) | 0x50
  uuid[8] = ((uuid[8] as number) & 0x3f) | 0x80
  writeUuid(uuid, text, 0)
  return text.toString('latin1')
}
const uuid = new Uint8Array(16)
const text = Buffer.alloc(UUID_CHARACTERS)

/** @returns where the name ends */
function writeName(name: string, bytes: Buffer): number {
  const { length } = name
  for (let i = 0; i < length; i++) {
    const code = name.charCodeAt(i)
    if (code > 0x7f) return NAMESPACE_BYTES + bytes.write(name, NAMESPACE_BYTES)
    bytes[NAMESPACE_BYTES + i] = code
  }
  return NAMESPACE_BYTES + length
}
