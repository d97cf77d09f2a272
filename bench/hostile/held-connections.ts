import { connect, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'

/** A connection from an address of its own. */
export const fromElsewhere = (port: number): Socket => connect({ port, host: '127.0.0.1', localAddress: '127.0.0.2' })

/** Opens connections that say nothing after their first words, and opens anew those that are closed. */
export async function hold(port: number, count: number, words: string | Buffer): Promise<never> {
  const sockets = new Set<Socket>()
  for (;;) {
    while (sockets.size < count) {
      const socket = fromElsewhere(port)
      socket.on('error', () => undefined).once('close', () => sockets.delete(socket))
      socket.write(words)
      sockets.add(socket)
    }
    await sleep(100)
  }
}
