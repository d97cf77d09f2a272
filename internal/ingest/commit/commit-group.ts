import { GROUP_BYTES_MAX } from '../../../streams/invocations.js'
import { type ParsedEvent, type TextRange, writeEntry } from '../../invocations/entry-bytes.js'
import type { Admission } from '../../invocations/invocation-group.js'
import { AdmittedKeys } from '../keys/admitted-keys.js'
import type { Commit } from './log-writer.js'

/** Events that go to the log in one message. */
export interface Group {
  readonly events: number
}

/** Waits for the log to store a group. */
export interface Settler {
  /** Called for each settler of a group before the first is settled: prefetches what `settled` reads. */
  foresee(group: Group): void
  settled(commit: Commit, group: Group): void
}

/** A group that still accepts events: a JSON array under construction. */
export interface OpenGroup extends Group {
  events: number
  length: number
  readonly settlers: Settler[]
  /** The Idempotency-Keys of its events. */
  readonly keys: AdmittedKeys
  readonly buffer: Buffer
}

/** Buffers kept for later groups. */
const SPARE_BUFFERS_MAX = 8

const OPEN_ARRAY = 0x5b
const COMMA = 0x2c
const CLOSE_ARRAY = 0x5d

/** Reuses the buffers of settled groups. */
export class GroupBuffers {
  private readonly spare: Buffer[] = []
  private readonly sender: Uint8Array

  /** @param sender as of `AdmittedKeys` */
  constructor(sender: Uint8Array) {
    this.sender = sender
  }

  /**
   * @param bytes of the first entry, with its comma
   * @param bytesMax of the group, if it has more entries
   */
  newGroup(bytes: number, bytesMax: number): OpenGroup {
    const kept = bytes < bytesMax && bytesMax === GROUP_BYTES_MAX ? this.spare.pop() : undefined
    const buffer = kept ?? Buffer.allocUnsafeSlow(Math.max(bytesMax, bytes + 1))
    buffer[0] = OPEN_ARRAY
    return { events: 0, length: 1, settlers: [], keys: new AdmittedKeys(this.sender), buffer }
  }

  release({ buffer }: OpenGroup): void {
    if (this.spare.length < SPARE_BUFFERS_MAX && buffer.length === GROUP_BYTES_MAX) this.spare.push(buffer)
  }
}

/** Appends an event, whose text is copied at once. */
export function appendEntry(
  group: OpenGroup,
  admission: Admission,
  text: TextRange,
  parsed: ParsedEvent | undefined,
): void {
  if (admission.key !== undefined) group.keys.add(admission.key)
  const end = writeEntry(group.buffer, group.length, admission, text, parsed)
  group.buffer[end] = COMMA
  group.length = end + 1
  group.events++
}

/** The message of a group. Every entry ends with a comma; the closing bracket replaces the last one. */
export function payloadOf({ buffer, length }: OpenGroup): Uint8Array {
  buffer[length - 1] = CLOSE_ARRAY
  return buffer.subarray(0, length)
}
