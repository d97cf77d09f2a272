/**
 * Events on their way to the log, each with its partition. The same event that comes meanwhile with another trace goes
 * there too: stage A tells an event from its repeat within a partition only, and the admission index does not know the
 * first one before the log has it. It goes as an event, not as a duplicate, since the first may not get there.
 *
 * An event is told by 64 bits of its id's hash. Two that share them meet in one partition, which costs one of them the
 * company of its trace and nothing else.
 *
 * It is asked for every event: typed arrays, no object.
 */
export class EventsInFlight {
  /** Two an event. */
  private readonly words: Int32Array
  private readonly partitions: Uint16Array
  /** How often the event of a slot is under way; 0 for a free one. */
  private readonly counts: Int32Array
  /** The slot after this one in its chain, or in that of free ones. */
  private readonly nextSlots: Int32Array
  private readonly chains = new Int32Array(CHAINS).fill(NONE)
  private firstFree = 0
  private eventCount = 0

  /** @param eventsMax that are under way at once */
  constructor(eventsMax: number) {
    this.words = new Int32Array(2 * eventsMax)
    this.partitions = new Uint16Array(eventsMax)
    this.counts = new Int32Array(eventsMax)
    this.nextSlots = Int32Array.from({ length: eventsMax }, (_, slot) => (slot + 1 < eventsMax ? slot + 1 : NONE))
  }

  /** Different ones. */
  get events(): number {
    return this.eventCount
  }

  /**
   * @param id 16 bytes, keyed hash from the fifth on (`invocationIdBytes`)
   * @param partition where it goes unless it is under way to another already
   * @returns its slot, to be given to `end` once it is known what became of it
   * @throws RangeError when too much is under way
   */
  begin(id: Uint8Array, partition: number): number {
    const { words, nextSlots, chains } = this
    const word0 = wordAt(id, 4)
    const word1 = wordAt(id, 8)
    const chain = word0 & CHAIN_MASK
    const first = chains[chain] as number
    for (let slot = first; slot !== NONE; slot = nextSlots[slot] as number) {
      if (words[2 * slot] === word0 && words[2 * slot + 1] === word1) {
        this.counts[slot] = (this.counts[slot] as number) + 1
        return slot
      }
    }
    const slot = this.firstFree
    if (slot === NONE) throw new RangeError('more events are under way than there may be')
    this.firstFree = nextSlots[slot] as number
    words[2 * slot] = word0
    words[2 * slot + 1] = word1
    this.partitions[slot] = partition
    this.counts[slot] = 1
    nextSlots[slot] = first
    chains[chain] = slot
    this.eventCount++
    return slot
  }

  /** Of the event in a slot. */
  partitionOf(slot: number): number {
    return this.partitions[slot] as number
  }

  /** Ends one `begin` that gave this slot. */
  end(slot: number): void {
    const count = (this.counts[slot] as number) - 1
    this.counts[slot] = count
    if (count > 0) return
    const { nextSlots, chains } = this
    const chain = (this.words[2 * slot] as number) & CHAIN_MASK
    const next = nextSlots[slot] as number
    if (chains[chain] === slot) {
      chains[chain] = next
    } else {
      let before = chains[chain] as number
      while (nextSlots[before] !== slot) before = nextSlots[before] as number
      nextSlots[before] = next
    }
    nextSlots[slot] = this.firstFree
    this.firstFree = slot
    this.eventCount--
  }
}

const NONE = -1
/** A power of two. Few events are under way at a time: a chain for each that may be would leave the nearest caches. */
const CHAINS = 16_384
const CHAIN_MASK = CHAINS - 1

const wordAt = (bytes: Uint8Array, at: number): number =>
  (bytes[at] as number) |
  ((bytes[at + 1] as number) << 8) |
  ((bytes[at + 2] as number) << 16) |
  ((bytes[at + 3] as number) << 24)
