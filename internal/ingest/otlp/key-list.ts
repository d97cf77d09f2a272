import { type ListedKey, listedKeys, tagKey } from './span-facts.js'

/** Attributes of these groups become tags; what follows the prefix is the tag's key. */
const TAG_PREFIXES = ['traceloop.association.properties.', 'langfuse.trace.metadata.'].map((prefix) =>
  Buffer.from(prefix),
)
/** A tag's key at most. */
const TAG_KEY_BYTES_MAX = 64

interface Entry {
  readonly bytes: Buffer
  readonly listed: ListedKey
}

/** The listed keys, found by their bytes: no string is made of a key that is not on the list. */
export class KeyList {
  private readonly slots: Entry[][] = Array.from({ length: SLOTS }, () => [])

  /** @param tagKeys further keys that are read, each of which becomes a tag of the same name */
  constructor(tagKeys: Iterable<string> = []) {
    const listed = listedKeys()
    for (const tag of tagKeys) listed.set(tag, tagKey(tag, listed.get(tag)))
    for (const [key, entry] of listed) {
      const bytes = Buffer.from(key)
      this.slots[slotOf(bytes, 0, bytes.length)]?.push({ bytes, listed: entry })
    }
  }

  /** @returns undefined if the key between these offsets is not listed */
  find(bytes: Buffer, start: number, end: number): ListedKey | undefined {
    for (const entry of this.slots[slotOf(bytes, start, end)] as Entry[]) {
      if (isAt(bytes, start, end, entry.bytes)) return entry.listed
    }
    for (const prefix of TAG_PREFIXES) {
      const rest = start + prefix.length
      if (rest < end && end - rest <= TAG_KEY_BYTES_MAX && isAt(bytes, start, rest, prefix)) {
        return tagKey(bytes.toString('utf8', rest, end))
      }
    }
    return undefined
  }
}

const SLOTS = 1024

/** Length, last and middle byte tell nearly all listed keys apart. */
function slotOf(bytes: Buffer, start: number, end: number): number {
  const length = end - start
  if (length === 0) return 0
  return (length * 37 + (bytes[end - 1] as number) * 7 + (bytes[start + (length >> 1)] as number) * 3) % SLOTS
}

function isAt(bytes: Buffer, start: number, end: number, expected: Buffer): boolean {
  const { length } = expected
  if (end - start !== length) return false
  for (let i = length - 1; i >= 0; i--) if (bytes[start + i] !== expected[i]) return false
  return true
}
