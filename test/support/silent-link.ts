/** A way to a nats-server that can fall silent: a peer that is frozen, or a network that drops what is sent. */
import { createConnection, createServer, type Socket } from 'node:net'
import { freePort } from '../../internal/local/supervisor/instance.js'
import { atEnd } from './run/at-end.js'

export interface SilentLink {
  readonly url: string
  /** From now on neither end hears of the other any more, and neither sees the connection close. */
  fallSilent(): void
  /** Closes what goes through it; what comes next goes through. */
  cut(): void
}

/** @param port of the server, on loopback */
export async function linkTo(port: number): Promise<SilentLink> {
  const sockets: Socket[] = []
  const relay = createServer((near) => {
    const far = createConnection({ host: '127.0.0.1', port })
    near.on('error', () => far.destroy())
    far.on('error', () => near.destroy())
    near.pipe(far)
    far.pipe(near)
    sockets.push(near, far)
  })
  const relayPort = await freePort()
  await new Promise<void>((resolve) => relay.listen(relayPort, '127.0.0.1', resolve))
  atEnd(() => {
    relay.close()
    for (const socket of sockets) socket.destroy()
  })
  return {
    url: `nats://127.0.0.1:${relayPort}`,
    fallSilent() {
      for (const socket of sockets) {
        socket.unpipe()
        socket.pause()
      }
    },
    cut() {
      for (const socket of sockets.splice(0)) socket.destroy()
    },
  }
}
