/**
 * The slots of a table divided into segments, each of which grows on its own, by half per step.
 *
 * The initial capacities are spread over one growth step: at any table size some segments are about to grow and some
 * have just grown, so neither memory per key nor the time spent growing comes in waves.
 *
 * Neighbouring segments have about the same capacity and share one array, an arena. A descriptor of one cache line says
 * where a segment's slots are: one array object per segment would cost five dependent reads that are rarely in a CPU
 * cache. An arena is freed when its last segment has moved to another.
 */
export class SegmentSlots {
  /** The descriptor of segment `i` begins at `i * NOTE_WORDS`. */
  readonly notes: Int32Array
  /** Memory of all arenas. */
  bytes = 0
  private readonly segments: number
  private readonly segmentsPerArena: number
  /** Indexed by arena number; freed ones are `NO_ARENA`. */
  private readonly arenas: Arena[] = []

  /** @param segments a power of two, at least 2 */
  constructor(segments: number) {
    this.segments = segments
    this.segmentsPerArena = Math.min(SEGMENTS_PER_ARENA, segments)
    this.notes = new Int32Array(segments * NOTE_WORDS)
    for (let segment = 0; segment < segments; segment++) this.enter(segment, 0)
  }

  /**
   * The array with the slots of the segment whose descriptor begins at `note`; the first slot is at its `START`. Two
   * words per slot: 32 bits of the hash, and the number of its record; 0 marks a free slot.
   */
  at(note: number): Int32Array {
    return (this.arenas[this.notes[note + ARENA] as number] as Arena).slots
  }

  /** Gives a segment empty slots: the capacity after `steps` growth steps. Its former slots are kept until `leave`. */
  enter(segment: number, steps: number): void {
    const { notes, segmentsPerArena } = this
    const arenasPerStep = this.segments / segmentsPerArena
    const number = steps * arenasPerStep + Math.floor(segment / segmentsPerArena)
    const extent = capacityAfter((number + 1) / arenasPerStep)
    while (this.arenas.length <= number) this.arenas.push(NO_ARENA)
    let arena = this.arenas[number] as Arena
    if (arena === NO_ARENA) {
      arena = { slots: new Int32Array(2 * extent * segmentsPerArena), users: 0 }
      this.arenas[number] = arena
      this.bytes += arena.slots.byteLength
    }
    arena.users++
    const capacity = this.capacityOf(segment, steps)
    const start = 2 * extent * (segment % segmentsPerArena)
    // The segment may have used this arena before.
    arena.slots.fill(0, start, start + 2 * capacity)
    const note = segment * NOTE_WORDS
    notes[note + ARENA] = number
    notes[note + START] = start
    notes[note + CAPACITY] = capacity
    notes[note + SIZE_MAX] = sizeMaxOf(capacity)
    notes[note + STEPS] = steps
  }

  /** Releases the former slots of one segment after `enter` has moved it; `slots` is their array. */
  leave(slots: Int32Array): void {
    const number = this.arenas.findIndex((arena) => arena.slots === slots)
    const arena = this.arenas[number]
    if (arena === undefined || --arena.users > 0) return
    this.arenas[number] = NO_ARENA
    this.bytes -= slots.byteLength
  }

  /** The smallest number of growth steps, at most `stepsMax`, with capacity for this many keys in the segment. */
  stepsFor(segment: number, keys: number, stepsMax: number): number {
    let steps = stepsMax
    while (steps > 0 && keys < sizeMaxOf(this.capacityOf(segment, steps - 1))) steps--
    return steps
  }

  private capacityOf(segment: number, steps: number): number {
    return capacityAfter(steps + segment / this.segments)
  }
}

/** Words per segment descriptor; the constants below are offsets in it. */
export const NOTE_WORDS = 8
/** Arena number. */
const ARENA = 0
/** Index of the segment's first slot in the arena's array. */
export const START = 1
/** Number of slots. */
export const CAPACITY = 2
/** Keys in the segment. */
export const SIZE = 3
/** Number of keys at which the segment grows. */
export const SIZE_MAX = 4
/** Growth steps done. */
export const STEPS = 5

/** The slots of neighbouring segments with the same number of growth steps. */
interface Arena {
  readonly slots: Int32Array
  /** Number of segments with slots in it. */
  users: number
}
const NO_ARENA: Arena = { slots: new Int32Array(0), users: 0 }

/**
 * A power of two. With fewer segments per arena there are more arrays to keep in CPU caches; with more, allocating one
 * takes longer and more memory is held until the last segment leaves.
 */
const SEGMENTS_PER_ARENA = 8

const CAPACITY_MIN = 8
const GROWTH = 1.5
const LOAD_MAX = 0.7
/** Below the load after growth (0.7 / 1.5 = 0.467), so that a segment does not alternately shrink and grow. */
export const LOAD_MIN = 0.45

const capacityAfter = (steps: number): number => Math.round(CAPACITY_MIN * GROWTH ** steps)
const sizeMaxOf = (capacity: number): number => Math.floor(capacity * LOAD_MAX)
