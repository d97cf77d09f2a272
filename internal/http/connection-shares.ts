import type { Socket } from 'node:net'
import { networkOf, plainAddress } from '../auth/addresses.js'

/** A connection on which no request is under way may be one that never sends one. */
interface Connection {
  readonly socket: Pick<Socket, 'destroy'>
  requests: number
}

/**
 * Which connections a listener that is full of them gives up: of the address that has most, the one that has been
 * silent for longest. One address, or a hundred silent ones, then shut nobody out; a client that had the connection for
 * its next request connects again.
 */
export class ConnectionShares {
  private readonly max: number
  private count = 0
  /** By network and then by port; silent connections move to the end as they fall silent. */
  private readonly networks = new Map<string, Map<string, Connection>>()

  constructor(max: number) {
    this.max = max
  }

  /** A new connection, which may be the one that is given up. */
  add(socket: Socket): void {
    const { network, port } = peerOf(socket)
    const connection = { socket, requests: 0 }
    const others = this.networks.get(network) ?? new Map<string, Connection>()
    this.networks.set(network, others.set(port, connection))
    this.count++
    socket.once('close', () => {
      this.count--
      if (others.get(port) === connection) others.delete(port)
      if (others.size === 0) this.networks.delete(network)
    })
    if (this.count > this.max) (this.silentOfMost() ?? connection).socket.destroy()
  }

  /** @param socket of the connection, or the one over it that decrypts */
  beginRequest(socket: Peer): void {
    const connection = this.of(socket)
    if (connection !== undefined) connection.requests++
  }

  endRequest(socket: Peer): void {
    const { network, port } = peerOf(socket)
    const others = this.networks.get(network)
    const connection = others?.get(port)
    if (others === undefined || connection === undefined || --connection.requests > 0) return
    others.delete(port)
    others.set(port, connection)
  }

  private of(socket: Peer): Connection | undefined {
    const { network, port } = peerOf(socket)
    return this.networks.get(network)?.get(port)
  }

  private silentOfMost(): Connection | undefined {
    const bySize = [...this.networks.values()].sort((one, other) => other.size - one.size)
    for (const connections of bySize) {
      for (const connection of connections.values()) if (connection.requests === 0) return connection
    }
    return undefined
  }
}

type Peer = Pick<Socket, 'remoteAddress' | 'remotePort'>

const peerOf = ({ remoteAddress = '', remotePort = 0 }: Peer): { readonly network: string; readonly port: string } => ({
  network: networkOf(plainAddress(remoteAddress)),
  // Of one network of IPv6 there may be several with the same port.
  port: `${remoteAddress} ${remotePort}`,
})
