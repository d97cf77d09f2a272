import { JsonSelector, type Selected, type WantedMembers } from '../../text/select-json.js'

/** Members that are read of a JSON text, each with the number of what it becomes. */
export interface MembersWanted {
  readonly [member: string]: number | MembersWanted
}

/**
 * Reads chosen members of an attribute that is a JSON text, such as the parameters of a request: the rest of it, which
 * may hold a prompt or tools, never becomes a string.
 */
export class JsonMembers {
  private readonly wanted: MembersWanted
  private readonly selector: JsonSelector

  constructor(wanted: MembersWanted) {
    this.wanted = wanted
    this.selector = new JsonSelector(wantedOf(wanted))
  }

  /** Nothing is read of bytes that are no JSON object, or too many. */
  read(bytes: Buffer, start: number, end: number, onMember: OnMember): void {
    if (end - start > JSON_TEXT_BYTES_MAX) return
    const selection = this.selector.select(bytes, start, end)
    if (selection !== undefined) passOn(this.wanted, selection.value, onMember)
  }
}

type OnMember = (number: number, value: string | number | boolean) => void

/** The parameters of a request with many tools have some 30 KB. */
export const JSON_TEXT_BYTES_MAX = 64 * 1024
/** A longer text is no name. */
const VALUE_LENGTH_MAX = 256

const wantedOf = (wanted: MembersWanted): WantedMembers =>
  Object.fromEntries(
    Object.entries(wanted).map(([member, inner]) => [member, typeof inner === 'number' ? 'value' : wantedOf(inner)]),
  )

function passOn(wanted: MembersWanted, selected: Selected, onMember: OnMember): void {
  for (const [member, inner] of Object.entries(wanted)) {
    const value = selected[member]
    if (typeof inner !== 'number') {
      if (typeof value === 'object' && value !== null) passOn(inner, value as Selected, onMember)
    } else if (typeof value === 'number' || typeof value === 'boolean') onMember(inner, value)
    else if (typeof value === 'string' && value.length <= VALUE_LENGTH_MAX) onMember(inner, value)
  }
}
