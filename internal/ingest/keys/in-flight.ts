import type { KeyHash } from '../../ids/key-hash.js'
import type { Fingerprint } from '../../repeats/key-table.js'

/**
 * Requests in flight, by the hash of their key: the first one proceeds, the others wait for its outcome.
 *
 * - the first is admitted: equal ones get its answer as a replay, others a conflict
 * - it is not admitted: equal ones get its answer too (the same body would have the same result, and no request waits
 *   twice); the first of the others proceeds in its place, and the rest go on waiting, for that one
 *
 * Look the key up in the index before `begin`, and add an admitted key to it before `settle`: this closes the race.
 * All in one event-loop turn. A request that nobody waits for costs a slot in typed arrays, no object and no promise.
 *
 * `Answer` is what the first was answered with, handed to the waiting ones as it is.
 */
export interface InFlightOptions {
  /** Limit of keys in flight. */
  readonly keysMax: number
  /** Limit of waiting requests, over all keys. */
  readonly waitingMax: number
  /** Milliseconds, monotonic. */
  readonly clock: () => number
}

/** Identifies a request that proceeds, 0 or more; never reused. */
export type Ticket = number

/** From `begin`: the request waits, its callback will be called. */
export const WAITS = -1
/** From `begin`: too many keys or requests are in flight; the waiter is not called. */
export const FULL = -2

/** The outcome reported to a waiting request, once. */
export type Outcome<Answer> =
  | { readonly kind: 'replay'; readonly answer: Answer }
  | { readonly kind: 'conflict' }
  /** The first was not admitted, and was answered so. */
  | { readonly kind: 'refused'; readonly answer: Answer }
  /** It proceeds now, as the first, and must settle the ticket, also if its sender has gone. */
  | { readonly kind: 'proceed'; readonly ticket: Ticket }

/** A request that may have to wait. */
export interface Waiter<Answer> {
  onOutcome(outcome: Outcome<Answer>): void
  /** Its key has been in flight for too long: answer its sender now, whatever the later outcome. */
  overdue(): void
}

interface Waiting<Answer> {
  readonly fingerprint0: number
  readonly fingerprint1: number
  readonly waiter: Waiter<Answer>
}

interface Settlement<Answer> {
  readonly ticket: Ticket
  readonly isAdmitted: boolean
  readonly answer: Answer
}

const NONE = -1
/** Words of a slot: hash, fingerprint. */
const SLOT_WORDS = 6
/** A power of two. Few keys are in flight at a time: one chain per possible key would not fit in the CPU caches. */
const CHAINS_MAX = 4_096

export class InFlight<Answer> {
  private readonly options: InFlightOptions
  private readonly slots: Int32Array
  /** The slot after this one in its chain, or in that of free ones. */
  private readonly nextSlots: Int32Array
  private readonly chains: Int32Array
  private firstFree = 0
  /** Slots from here on were never taken: those that became free last are taken first. */
  private untouched = 0
  /** A slot's number of uses: a ticket is uses * keysMax + slot, and void once its use is over. */
  private readonly uses: Float64Array
  private readonly isOccupied: Uint8Array
  /** When the slot was occupied; infinity once its key has been reported as overdue. */
  private readonly occupiedAtMs: Float64Array
  /** Who proceeds. */
  private readonly holders: (Waiter<Answer> | undefined)[]
  private readonly waitingOf: (Waiting<Answer>[] | undefined)[]
  private keyCount = 0
  private waitingCount = 0
  private readonly settlements: Settlement<Answer>[] = []
  private isSettling = false

  constructor(options: InFlightOptions) {
    const { keysMax } = options
    this.options = options
    this.slots = new Int32Array(keysMax * SLOT_WORDS)
    // A loop and `fill`: `from` with a function takes 10 ms for 65,536 slots, at each start of a gateway.
    this.nextSlots = new Int32Array(keysMax)
    for (let slot = 0; slot < keysMax; slot++) this.nextSlots[slot] = slot + 1 < keysMax ? slot + 1 : NONE
    this.chains = new Int32Array(Math.min(CHAINS_MAX, 2 ** Math.ceil(Math.log2(keysMax + 1)))).fill(NONE)
    this.uses = new Float64Array(keysMax)
    this.isOccupied = new Uint8Array(keysMax)
    this.occupiedAtMs = new Float64Array(keysMax)
    this.holders = new Array<undefined>(keysMax).fill(undefined)
    this.waitingOf = new Array<undefined>(keysMax).fill(undefined)
  }

  /** Keys in flight. */
  get keys(): number {
    return this.keyCount
  }

  /** Requests that wait. */
  get waiting(): number {
    return this.waitingCount
  }

  /**
   * @param waiter called once and later, if `WAITS` is returned; the waiters of a key are called in the order of their
   *   `begin`
   * @returns the ticket of a request that proceeds, `WAITS` or `FULL`
   */
  begin(key: KeyHash, fingerprint: Fingerprint, waiter: Waiter<Answer>): Ticket {
    const slot = this.find(key)
    if (slot === NONE) return this.take(key, fingerprint, waiter)
    if (this.waitingCount >= this.options.waitingMax) return FULL
    this.waitingCount++
    const waiting = { fingerprint0: fingerprint[0] ?? 0, fingerprint1: fingerprint[1] ?? 0, waiter }
    const others = this.waitingOf[slot]
    if (others === undefined) this.waitingOf[slot] = [waiting]
    else others.push(waiting)
    return WAITS
  }

  /**
   * Reports the outcome of a request that proceeded. Callbacks run before it returns, unless it is called from one.
   *
   * @throws RangeError for a ticket that is already settled
   */
  settle(ticket: Ticket, isAdmitted: boolean, answer: Answer): void {
    const slot = ticket % this.options.keysMax
    if (this.isOccupied[slot] !== 1 || this.ticketOf(slot) !== ticket)
      throw new RangeError('the ticket is already settled')
    // The ticket is now void; the key stays in flight while other requests wait for it.
    this.uses[slot] = (this.uses[slot] ?? 0) + 1
    if (this.waitingOf[slot] === undefined) {
      this.free(slot)
      return
    }

    this.settlements.push({ ticket, isAdmitted, answer })
    // A callback that settles at once is served after this one: no recursion, however many wait for one key.
    if (this.isSettling) return
    this.isSettling = true
    let failure: { readonly cause: unknown } | undefined
    for (let next = this.settlements.shift(); next !== undefined; next = this.settlements.shift()) {
      for (const call of this.outcomesOf(next)) {
        try {
          call()
        } catch (cause) {
          // One failing callback must not leave the others waiting for ever; its error is thrown after all have been
          // called.
          failure ??= { cause }
        }
      }
    }
    this.isSettling = false
    if (failure !== undefined) throw failure.cause
  }

  /**
   * Calls `overdue` once per key that has been in flight for longer than `ageMs`: on its request and on those waiting
   * for it. Nothing else changes: they still get the outcome.
   */
  notifyOverdue(ageMs: number): void {
    const { isOccupied, occupiedAtMs, untouched } = this
    const beforeMs = this.options.clock() - ageMs
    for (let slot = 0; slot < untouched; slot++) {
      if (isOccupied[slot] !== 1 || (occupiedAtMs[slot] ?? 0) > beforeMs) continue
      occupiedAtMs[slot] = Number.POSITIVE_INFINITY
      this.holders[slot]?.overdue()
      for (const { waiter } of this.waitingOf[slot] ?? []) waiter.overdue()
    }
  }

  /** Whether requests wait for the outcome of the one with this ticket. */
  isAwaited(ticket: Ticket): boolean {
    return this.waitingOf[ticket % this.options.keysMax] !== undefined
  }

  private outcomesOf({ ticket, isAdmitted, answer }: Settlement<Answer>): (() => void)[] {
    const slot = ticket % this.options.keysMax
    const fingerprint0 = this.slots[slot * SLOT_WORDS + 4]
    const fingerprint1 = this.slots[slot * SLOT_WORDS + 5]
    const calls: (() => void)[] = []
    const remaining: Waiting<Answer>[] = []
    let successor: Waiting<Answer> | undefined
    for (const waiting of this.waitingOf[slot] ?? []) {
      const { waiter } = waiting
      const isEqual = waiting.fingerprint0 === fingerprint0 && waiting.fingerprint1 === fingerprint1
      if (isEqual) calls.push(() => waiter.onOutcome({ kind: isAdmitted ? 'replay' : 'refused', answer }))
      else if (isAdmitted) calls.push(() => waiter.onOutcome({ kind: 'conflict' }))
      else if (successor === undefined) successor = waiting
      else remaining.push(waiting)
    }
    this.waitingCount -= calls.length
    this.waitingOf[slot] = remaining.length > 0 ? remaining : undefined
    if (successor === undefined) {
      this.free(slot)
    } else {
      this.waitingCount--
      this.slots[slot * SLOT_WORDS + 4] = successor.fingerprint0
      this.slots[slot * SLOT_WORDS + 5] = successor.fingerprint1
      const { waiter } = successor
      this.holders[slot] = waiter
      const next = this.ticketOf(slot)
      calls.push(() => waiter.onOutcome({ kind: 'proceed', ticket: next }))
    }
    return calls
  }

  private ticketOf(slot: number): Ticket {
    return (this.uses[slot] ?? 0) * this.options.keysMax + slot
  }

  private find(key: KeyHash): number {
    let slot = this.chains[this.chainOf(key[1] ?? 0)] ?? NONE
    while (slot !== NONE) {
      const at = slot * SLOT_WORDS
      const { slots } = this
      if (slots[at] === key[0] && slots[at + 1] === key[1] && slots[at + 2] === key[2] && slots[at + 3] === key[3])
        break
      slot = this.nextSlots[slot] ?? NONE
    }
    return slot
  }

  private take(key: KeyHash, fingerprint: Fingerprint, holder: Waiter<Answer>): Ticket {
    const slot = this.firstFree
    if (slot === NONE) return FULL
    this.firstFree = this.nextSlots[slot] ?? NONE
    if (slot === this.untouched) this.untouched++
    const at = slot * SLOT_WORDS
    this.slots[at] = key[0] ?? 0
    this.slots[at + 1] = key[1] ?? 0
    this.slots[at + 2] = key[2] ?? 0
    this.slots[at + 3] = key[3] ?? 0
    this.slots[at + 4] = fingerprint[0] ?? 0
    this.slots[at + 5] = fingerprint[1] ?? 0
    const chain = this.chainOf(key[1] ?? 0)
    this.nextSlots[slot] = this.chains[chain] ?? NONE
    this.chains[chain] = slot
    this.isOccupied[slot] = 1
    this.occupiedAtMs[slot] = this.options.clock()
    this.holders[slot] = holder
    this.keyCount++
    return this.ticketOf(slot)
  }

  private free(slot: number): void {
    const chain = this.chainOf(this.slots[slot * SLOT_WORDS + 1] ?? 0)
    const next = this.nextSlots[slot] ?? NONE
    if (this.chains[chain] === slot) {
      this.chains[chain] = next
    } else {
      let before = this.chains[chain] ?? NONE
      while (this.nextSlots[before] !== slot) before = this.nextSlots[before] ?? NONE
      this.nextSlots[before] = next
    }
    this.nextSlots[slot] = this.firstFree
    this.firstFree = slot
    this.isOccupied[slot] = 0
    this.holders[slot] = undefined
    this.keyCount--
  }

  private chainOf(word: number): number {
    return word & (this.chains.length - 1)
  }
}
