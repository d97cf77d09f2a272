import type { ServerHttp2Session } from 'node:http2'

/** Of a turn: what one connection may bring at least; some 5 ms of work of Node's own. */
const CALLS_PER_TURN = 32

/** Node's own object behind a socket; a session reads from it, past the socket's `pause`. */
interface Handle {
  readonly readStop: () => unknown
  readonly readStart: () => unknown
  /** Bytes of a write that has not ended: a session writes past its socket, too. */
  readonly writeQueueSize: number
}

/**
 * Stops reading once enough calls have begun in a turn of the event loop. Node would otherwise read all connections in
 * one turn, and make a stream of each call that they bring: half a second for two thousand.
 */
export class ReadTurns {
  private readonly handles = new Set<Handle>()
  private begun = 0

  add(session: ServerHttp2Session): void {
    const { _handle: handle } = session.socket as unknown as { readonly _handle?: Handle | null }
    if (handle == null) return
    this.handles.add(handle)
    session.once('close', () => this.handles.delete(handle))
  }

  /** A call has begun. */
  count(): void {
    this.begun++
    if (this.begun === 1) setImmediate(this.nextTurn)
    if (this.begun === CALLS_PER_TURN) for (const handle of this.handles) handle.readStop()
  }

  private readonly nextTurn = (): void => {
    const wasStopped = this.begun >= CALLS_PER_TURN
    this.begun = 0
    if (!wasStopped) return
    // Where a peer does not read, Node itself stops reading until its write has ended.
    for (const handle of this.handles) if (handle.writeQueueSize === 0) handle.readStart()
  }
}
