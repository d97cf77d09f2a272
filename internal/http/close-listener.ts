import { Server } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'

/** A turn of the event loop without work takes less; one that accepts a connection, more. */
const QUIET_TURN_MS = 0.05
/** For so long, and in so many turns at least, it is looked for: a busy machine may stop the process in one of them. */
const LOOKED_FOR_MS = 1_000
const LOOKED_AT_TURNS = 50
/** In which the request of a connection that was accepted last arrives. */
const LAST_REQUESTS_MS = 300

/**
 * Closes a listener that others still connect to. The system resets connections that wait to be accepted then, so that
 * it is closed right behind a turn of the event loop that has accepted all of them and had nothing else to do. A client
 * that comes in the microseconds between is reset all the same: no socket option of Node's prevents it.
 */
export async function closeListener(close: () => void): Promise<void> {
  const deadline = performance.now() + LOOKED_FOR_MS
  for (let turn = 1; ; turn++) {
    const before = performance.now()
    await new Promise(setImmediate)
    const now = performance.now()
    if (now - before < QUIET_TURN_MS || (turn >= LOOKED_AT_TURNS && now > deadline)) break
  }
  close()
  await sleep(LAST_REQUESTS_MS)
}

/**
 * Closes a server's socket, then its idle connections. Node's HTTP server does the latter first, which takes
 * milliseconds, and resets those who connect meanwhile.
 */
export function closeSocket(server: Server): void {
  Server.prototype.close.call(server)
  server.close()
}
