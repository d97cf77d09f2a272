/** What the first requests of a turn may bring together: some 3 ms of work. */
const BYTES_PER_TURN = 128 * 1024
/** Of a piece beside its bytes: a request of twenty calls costs as much as half a megabyte of content that is skipped. */
const COST_MIN = 32 * 1024

interface Piece {
  readonly cost: number
  readonly go: () => void
}

/** Runs a piece of work with so many bytes now, or in a later turn of the event loop. */
export type Pace = (bytes: number, go: () => void) => void

/**
 * Lets requests and pieces of bodies through, so many bytes in a turn of the event loop and the others in later ones:
 * thousands of requests at once, each of which yields after its own slice, would hold up everybody else for seconds.
 * Networks take turns, and within one its connections: a request waits for a piece of each, not for all that another has
 * sent.
 */
export class PacedBytes {
  private left = BYTES_PER_TURN
  private readonly waiting = new Map<string, Map<number, Piece[]>>()
  private isTurnCounted = false

  /** The pace of a connection, whose pieces keep their order. */
  of(network: string, connection: number): Pace {
    return (bytes, go) => {
      const piece = { cost: bytes + COST_MIN, go }
      if (this.left > 0) return this.run(piece)
      const connections = this.waiting.get(network) ?? new Map<number, Piece[]>()
      const pieces = connections.get(connection) ?? []
      pieces.push(piece)
      this.waiting.set(network, connections.set(connection, pieces))
    }
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
    while (this.left > 0) {
      const piece = this.next()
      if (piece === undefined) return
      this.run(piece)
    }
  }

  private next(): Piece | undefined {
    for (const [network, connections] of this.waiting) {
      for (const [connection, pieces] of connections) {
        const piece = pieces.shift()
        moveToEnd(connections, connection, pieces, pieces.length > 0)
        moveToEnd(this.waiting, network, connections, connections.size > 0)
        return piece
      }
    }
    return undefined
  }
}

function moveToEnd<K, V>(map: Map<K, V>, key: K, value: V, isLeft: boolean): void {
  map.delete(key)
  if (isLeft) map.set(key, value)
}
