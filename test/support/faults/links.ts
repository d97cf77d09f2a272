/**
 * A proxy in front of a TCP port of this machine. It forwards, delays, keeps everything back as a network that drops
 * packets, or refuses connections and cuts those that are open.
 */
import { createConnection, createServer, type Socket } from 'node:net'
import { Transform } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import { freePort } from '../../../internal/local/supervisor/supervised-instance.js'
import { atEnd } from '../run/at-end.js'

export interface Link {
  readonly port: number
  /** Cuts the open connections and refuses others until it is mended. */
  cut(): void
  /** Keeps each piece of up to 64 KiB back for so long, in both directions. */
  delay(ms: number): void
  /** Forwards nothing and closes nothing until it is mended; what came meanwhile is then forwarded. */
  hold(): void
  mend(): void
}

/** Ends with the test file. */
export async function linkTo(port: number): Promise<Link> {
  const sockets = new Set<Socket>()
  let delayMs = 0
  let isCut = false
  let [held, release]: [Promise<void> | undefined, () => void] = [undefined, () => undefined]
  const passing = async (): Promise<void> => {
    if (held !== undefined) await held
    if (delayMs > 0) await sleep(delayMs)
  }
  const delaying = (): Transform =>
    new Transform({
      transform(piece, _, done) {
        if (held === undefined && delayMs === 0) done(null, piece)
        else void passing().then(() => done(null, piece))
      },
    })
  const relay = createServer((near) => {
    if (isCut) {
      near.destroy()
      return
    }
    const far = createConnection({ host: '127.0.0.1', port })
    const both = [near, far]
    for (const socket of both) {
      socket.setNoDelay(true)
      sockets.add(socket)
      // One end that is gone ends the other, with all that is on its way.
      socket.on('error', () => undefined)
      socket.once('close', () => {
        for (const each of both) {
          each.destroy()
          sockets.delete(each)
        }
      })
    }
    near.pipe(delaying()).pipe(far)
    far.pipe(delaying()).pipe(near)
  })
  const relayPort = await freePort()
  await new Promise<void>((resolve) => relay.listen(relayPort, '127.0.0.1', resolve))
  const destroyAll = (): void => {
    for (const socket of sockets) socket.destroy()
  }
  const mend = (): void => {
    ;[isCut, delayMs, held] = [false, 0, undefined]
    release()
  }
  atEnd(() => {
    mend()
    relay.close()
    destroyAll()
  })
  return {
    port: relayPort,
    mend,
    cut() {
      isCut = true
      destroyAll()
    },
    delay(ms) {
      delayMs = ms
    },
    hold() {
      held ??= new Promise((resolve) => {
        release = resolve
      })
    },
  }
}
