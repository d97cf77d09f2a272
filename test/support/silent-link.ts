/** A proxy to a nats-server that can stop forwarding, like a frozen peer or a network that drops packets. */
import { createConnection, createServer, type Socket } from 'node:net'
import { freePort } from '../../internal/local/supervisor/supervised-instance.js'
import { atEnd } from './run/at-end.js'

export interface SilentLink {
  readonly url: string
  /** Drops all bytes in both directions without closing the connection. */
  fallSilent(): void
  /** Closes its connections and forwards new ones. */
  cut(): void
  /** Closes its connections and refuses new ones until `comeBack`. */
  goDown(): void
  comeBack(): void
}

/** @param port of the server, on loopback */
export async function linkTo(port: number): Promise<SilentLink> {
  const sockets: Socket[] = []
  let isDown = false
  const relay = createServer((near) => {
    if (isDown) return void near.destroy()
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
  const cut = (): void => {
    for (const socket of sockets.splice(0)) socket.destroy()
  }
  return {
    url: `nats://127.0.0.1:${relayPort}`,
    fallSilent() {
      for (const socket of sockets) {
        socket.unpipe()
        socket.pause()
      }
    },
    cut,
    goDown() {
      isDown = true
      cut()
    },
    comeBack() {
      isDown = false
    },
  }
}
