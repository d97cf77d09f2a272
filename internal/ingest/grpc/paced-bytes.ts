/** What the first calls of a turn may bring together: some 10 ms of work. */
const BYTES_PER_TURN = 256 * 1024
/** Of a piece beside its bytes: what a call costs at least. */
const COST_MIN = 8 * 1024

interface Piece {
  readonly cost: number
  readonly go: () => void
}

/**
 * Lets pieces of bodies through, so many bytes in a turn of the event loop and the others, in their order, in later ones:
 * thousands of calls at once, each of which yields after its own slice, would hold up everybody else for seconds.
 */
export class PacedBytes {
  private left = BYTES_PER_TURN
  private readonly waiting: Piece[] = []
  private isTurnCounted = false

  /** @param go runs now, or in a later turn */
  pass(bytes: number, go: () => void): void {
    const cost = bytes + COST_MIN
    if (this.left <= 0) this.waiting.push({ cost, go })
    else this.run({ cost, go })
  }

  private run({ cost, go }: Piece): void {
    this.left -= cost
    if (!this.isTurnCounted) {
      this.isTurnCounted = true
      setImmediate(this.nextTurn)
    }
    go()
  }

  private readonly nextTurn = (): void => {
    this.isTurnCounted = false
    this.left = BYTES_PER_TURN
    let at = 0
    while (at < this.waiting.length && this.left > 0) this.run(this.waiting[at++] as Piece)
    if (at > 0) this.waiting.splice(0, at)
  }
}
