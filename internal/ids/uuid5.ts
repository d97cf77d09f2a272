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
 *
 * @param parts of the name, which are written one after the other: to join them first would make a string only to read
 * it
 */
export function uuid5(...parts: readonly string[]): string {
  let characters = 0
  for (let i = 0; i < parts.length; i++) characters += (parts[i] as string).length
  const bytesMax = NAMESPACE_BYTES + characters * 3 + SHA1_PADDING_BYTES_MAX
  const bytes = bytesMax <= usual.length ? usual : Buffer.concat([NAMESPACE], bytesMax)
  const first = parts[0] ?? ''
  let end = written.end
  if (bytes !== usual) end = writeText(first, bytes, NAMESPACE_BYTES)
  else if (first !== written.text) {
    end = writeText(first, usual, NAMESPACE_BYTES)
    written = { text: first, end }
  }
  for (let i = 1; i < parts.length; i++) end = writeText(parts[i] as string, bytes, end)
  const digest = sha1(bytes, end)
  for (let i = 0; i < 16; i++) uuid[i] = (digest[i >> 2] as number) >>> (24 - 8 * (i & 3))
  uuid[6] = ((uuid[6] as number) & 0x0f) | 0x50
  uuid[8] = ((uuid[8] as number) & 0x3f) | 0x80
  writeUuid(uuid, text, 0)
  return text.toString('latin1')
}
/** The first part of the name that `usual` holds: that of a tenant's ids is the same for all of a body. */
let written = { text: '', end: NAMESPACE_BYTES }
const uuid = new Uint8Array(16)
const text = Buffer.alloc(UUID_CHARACTERS)

/** @returns where the text ends */
function writeText(part: string, bytes: Buffer, at: number): number {
  const { length } = part
  for (let i = 0; i < length; i++) {
    const code = part.charCodeAt(i)
    if (code > 0x7f) return at + bytes.write(part, at)
    bytes[at + i] = code
  }
  return at + length
}
