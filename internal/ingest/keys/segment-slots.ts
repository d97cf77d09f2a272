/**
 * The slots of a table that is cut into segments, each of which grows by half on its own.
 *
 * The segments begin with capacities that are spread over one step of growth: at any size some are about to grow and
 * some have just grown, hence neither memory per key nor the time for growing comes in waves.
 *
 * Neighbouring segments, which have about the same capacity, stand in one array, an arena, and where each stands is noted
 * in one line of memory: an array object a segment would cost five lines, one after the other, that are seldom in the
 * processor's caches. An arena goes when its last segment has moved to another.
 */
export class SegmentSlots {
  /** What is noted of segment `i` begins at `i * NOTE_WORDS`. */
  readonly notes: Int32Array
  /** Of all arenas. */
  bytes = 0
  private readonly segments: number
  private readonly segmentsPerArena: number
  /** By their numbers; those that were left are empty. */
  private readonly arenas: Arena[] = []

  /** @param segments a power of two from 2 on */
  constructor(segments: number) {
    this.segments = segments
    this.segmentsPerArena = Math.min(SEGMENTS_PER_ARENA, segments)
    this.notes = new Int32Array(segments * NOTE_WORDS)
    for (let segment = 0; segment < segments; segment++) this.enter(segment, 0)
  }

  /**
   * The array in which the segment noted there has its slots, from `START` on. Two words a slot: 32 bits of the hash, and
   * the number of its record; 0 marks a free slot.
   */
  at(note: number): Int32Array {
    return (this.arenas[this.notes[note + ARENA] as number] as Arena).slots
  }

  /** Gives a segment empty slots for so many steps of growth. Those that it had are its own until `leave`. */
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
    // It may have been here before.
    arena.slots.fill(0, start, start + 2 * capacity)
    const note = segment * NOTE_WORDS
    notes[note + ARENA] = number
    notes[note + START] = start
    notes[note + CAPACITY] = capacity
    notes[note + SIZE_MAX] = sizeMaxOf(capacity)
    notes[note + STEPS] = steps
  }

  /** To be told for each segment that has gone to other slots, with the array of those that it had. */
  leave(slots: Int32Array): void {
    const number = this.arenas.findIndex((arena) => arena.slots === slots)
    const arena = this.arenas[number]
    if (arena === undefined || --arena.users > 0) return
    this.arenas[number] = NO_ARENA
    this.bytes -= slots.byteLength
  }

  /** The fewest steps, up to these, after which a segment has room for so many keys. */
  stepsFor(segment: number, keys: number, stepsMax: number): number {
    let steps = stepsMax
    while (steps > 0 && keys < sizeMaxOf(this.capacityOf(segment, steps - 1))) steps--
    return steps
  }

  private capacityOf(segment: number, steps: number): number {
    return capacityAfter(steps + segment / this.segments)
  }
}

/** Words of what is noted of a segment, and which they are. */
export const NOTE_WORDS = 8
/** The number of its arena. */
const ARENA = 0
/** Where its slots begin in the arena's array. */
export const START = 1
/** In slots. */
export const CAPACITY = 2
/** Keys in it. */
export const SIZE = 3
/** Keys at most before it grows. */
export const SIZE_MAX = 4
/** Steps of growth taken. */
export const STEPS = 5

/** The slots of neighbouring segments that have taken as many steps. */
interface Arena {
  readonly slots: Int32Array
  /** Segments that have their slots in it. */
  users: number
}
const NO_ARENA: Arena = { slots: new Int32Array(0), users: 0 }

/**
 * A power of two. With fewer, there are more arrays to be kept near; with more, it takes longer to make one, at once, and
 * more memory waits for its last segment to leave.
 */
const SEGMENTS_PER_ARENA = 8

const CAPACITY_MIN = 8
const GROWTH = 1.5
const LOAD_MAX = 0.7
/** Below what growth leaves (0.7 / 1.5 = 0.467), lest a segment shrink and grow in turn. */
export const LOAD_MIN = 0.45

const capacityAfter = (steps: number): number => Math.round(CAPACITY_MIN * GROWTH ** steps)
const sizeMaxOf = (capacity: number): number => Math.floor(capacity * LOAD_MAX)
