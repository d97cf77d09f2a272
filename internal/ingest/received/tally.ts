import type { Problem } from '../../problems/problem-catalogue.js'
import type { Sender } from './sender.js'

/** What a call may lack that its sender could state. */
export type Lacking = 'provider' | 'service' | 'usage' | 'cache_counts'

/** The members of an event that say what it lacks. */
interface StatedFields {
  readonly provider?: unknown
  readonly attributed_service?: unknown
  readonly input_tokens?: unknown
  readonly output_tokens?: unknown
  readonly cached_input_tokens?: unknown
  readonly estimated_cost_usd?: unknown
  readonly billed_units?: unknown
}

/** Field names of one sender: a sample, which shows how it spells things. */
export const FIELD_NAMES_MAX = 16
/** Calls of one request whose fields are looked at: those of one sender are alike. */
const LOOKS_MAX = 8

/** What one request holds of one sender, and what became of it. Each thing received is counted once. */
export class Tally {
  readonly sender: Sender
  /** Calls that are new, and calls that were accepted before. */
  accepted = 0
  duplicates = 0
  /** What is no call of its own, by reason. */
  readonly passedOver = new Map<string, number>()
  /** Calls that cannot become records, by reason. */
  readonly rejected = new Map<string, number>()
  /** Of the new calls: how many lack what. */
  readonly lacking = new Map<Lacking, number>()
  /** Names under which the sender states usage, models or providers, and which nobody reads. Never a value. */
  readonly fieldNames = new Set<string>()
  private looks = 0

  constructor(sender: Sender) {
    this.sender = sender
  }

  accept(event: StatedFields, isDuplicate: boolean): void {
    if (isDuplicate) {
      this.duplicates++
      return
    }
    this.accepted++
    if (event.provider === NO_PROVIDER) increment(this.lacking, 'provider')
    if (event.attributed_service === undefined) increment(this.lacking, 'service')
    if (event.input_tokens !== undefined || event.output_tokens !== undefined) {
      if (event.cached_input_tokens === undefined) increment(this.lacking, 'cache_counts')
    } else if (event.estimated_cost_usd === undefined && event.billed_units === undefined) {
      increment(this.lacking, 'usage')
    }
  }

  passOver(reason: string): void {
    increment(this.passedOver, reason)
  }

  reject(reason: string): void {
    increment(this.rejected, reason)
  }

  /** Whether to look at the fields of one more call. */
  wantsFields(): boolean {
    return this.looks++ < LOOKS_MAX
  }

  noteField(name: string): void {
    if (this.fieldNames.size < FIELD_NAMES_MAX) this.fieldNames.add(name)
  }
}

/** The provider of a call that names none. */
const NO_PROVIDER = 'unknown'

export function increment<Name>(counts: Map<Name, number>, name: Name, by = 1): void {
  counts.set(name, (counts.get(name) ?? 0) + by)
}

/** Of the schema; a member that it does not know may have any name. */
const FIELD = /^\/([a-z][a-z0-9_]{0,39})(?:\/|$)/

/** Why an event was refused, as a code: never a value or a text from outside. */
export function reasonOf({ code, errors }: Pick<Problem, 'code' | 'errors'>): string {
  if (code !== 'VALIDATION_FAILED') return REASONS[code] ?? code.toLowerCase()
  return invalid(errors?.[0]?.pointer)
}

const REASONS: Readonly<Record<string, string>> = {
  INSUFFICIENT_SCOPE: 'layer_not_allowed',
  MALFORMED_REQUEST: 'malformed',
  PAYLOAD_TOO_LARGE: 'too_large',
}

/** @param pointer to the first thing that is wrong; '' where that is the whole */
export const invalid = (pointer = ''): string =>
  pointer === '' ? 'malformed' : `invalid_${FIELD.exec(pointer)?.[1] ?? 'event'}`
