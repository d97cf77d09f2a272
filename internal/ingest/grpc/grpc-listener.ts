import {
  constants,
  createSecureServer,
  createServer,
  type IncomingHttpHeaders,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from 'node:http2'
import { addressBudgets, networkOf, plainAddress } from '../../auth/addresses.js'
import type { ConnectionShares } from '../../http/connection-shares.js'
import type { ListenerHealth } from '../../http/listener-health.js'
import { HEAD_MS_MAX } from '../../http/node-settings.js'
import { listenWith, type OwnServer, type RunningListener } from '../../http/own-listener.js'
import { takeFrom } from '../../http/rate-limit.js'
import { Shares } from '../../http/shares.js'
import { type IntakeDeps, type IntakeRequests, intakeRequests } from '../intake/intake-requests.js'
import type { IntakeRoute } from '../intake/intake-route.js'
import type { IntakeSettings } from '../intake/listener.js'
import { grpcRoutes, RPC } from './grpc-answers.js'
import { HEALTH_CHECK, healthOf } from './health.js'
import { ReadTurns } from './read-turns.js'
import { answer, type CallHead, readUnaryCall, refuse } from './unary-call.js'

/** Calls under way: of one connection, as clients are told, and of all, of which an address has half at most. */
const STREAMS_PER_CONNECTION_MAX = 32
const STREAMS_MAX = 1_000
/** Of what is sent before somebody reads it, per call: the default of HTTP/2. */
const WINDOW_BYTES = 65_535
/** Of a connection: with the default of HTTP/2, its calls would share the window of one. Node keeps no byte for it. */
const CONNECTION_WINDOW_BYTES = STREAMS_PER_CONNECTION_MAX * WINDOW_BYTES
const HEAD_BYTES_MAX = 16_384
const HEALTH_REQUEST_BYTES_MAX = 1_024

/**
 * OTLP over gRPC, which Collectors and Python's zero-code instrumentation speak by default: the routes of OTLP/HTTP
 * with their limits and answers, behind the unary calls of `Export`. Node's own HTTP/2; a library would bring a second
 * protobuf reader, which reads content.
 */
export function startGrpcIntake(
  { health, leaving, ...settings }: IntakeSettings,
  otlp: readonly IntakeRoute[],
  deps: IntakeDeps,
): Promise<RunningListener> {
  const calls = new Calls(intakeRequests(grpcRoutes(otlp), deps), deps, health)
  // Clients are told to connect anew, which a load balancer sends elsewhere.
  leaving.addEventListener('abort', calls.server.closeIdle, { once: true })
  return listenWith({ ...settings, name: 'intake-grpc' }, calls.server, deps.log)
}

class Calls {
  private readonly onRequest: IntakeRequests
  private readonly deps: IntakeDeps
  private readonly budgetOfAddress = addressBudgets()
  private readonly sessions = new Set<ServerHttp2Session>()
  private readonly reads = new ReadTurns()
  private readonly streams = new Shares(STREAMS_MAX)
  private connections: ConnectionShares | undefined
  private readonly health: ListenerHealth

  constructor(onRequest: IntakeRequests, deps: IntakeDeps, health: ListenerHealth) {
    this.onRequest = onRequest
    this.deps = deps
    this.health = health
  }

  readonly server: OwnServer = {
    create: (pem, connections) => {
      this.connections = connections
      const settings = {
        maxConcurrentStreams: STREAMS_PER_CONNECTION_MAX,
        initialWindowSize: WINDOW_BYTES,
        maxHeaderListSize: HEAD_BYTES_MAX,
      }
      const server =
        pem === undefined
          ? createServer({ settings })
          : createSecureServer({ ...pem, settings, handshakeTimeout: HEAD_MS_MAX })
      server.on('session', (session) => this.addSession(session))
      server.on('stream', this.onStream)
      server.on('timeout', (session?: ServerHttp2Session) => setImmediate(() => session?.destroy()))
      return server
    },
    closeIdle: () => {
      for (const session of this.sessions) if (!session.closed) session.close()
    },
  }

  private addSession(session: ServerHttp2Session): void {
    // A connection that ends badly costs only itself.
    session.on('error', () => undefined)
    session.setLocalWindowSize(CONNECTION_WINDOW_BYTES)
    this.sessions.add(session)
    this.reads.add(session)
    session.once('close', () => this.sessions.delete(session))
  }

  /** @param rawHeaders names and values in turn, which Node's types do not have */
  private readonly onStream = (
    stream: ServerHttp2Stream,
    headers: IncomingHttpHeaders,
    _flags: number,
    rawHeaders: readonly string[] = [],
  ): void => {
    this.reads.count()
    const { remoteAddress = '', remotePort = 0 } = stream.session?.socket ?? {}
    const address = plainAddress(remoteAddress)
    const network = networkOf(address)
    const hasPlace = this.streams.hold(1, network)
    this.connections?.beginRequest({ remoteAddress, remotePort })
    stream.once('close', () => {
      if (hasPlace) this.streams.release(1, network)
      this.connections?.endRequest({ remoteAddress, remotePort })
    })
    stream.on('error', () => undefined)
    const isGrpc = headers['content-type']?.startsWith('application/grpc') === true && headers[':method'] === 'POST'
    const head = { path: headers[':path'] ?? '', headers, rawHeaders, peer: { remoteAddress: address, remotePort } }
    if (isGrpc && hasPlace && head.path !== HEALTH_CHECK) {
      return readUnaryCall(stream, head, (message, response) => void this.onRequest(message, response))
    }
    this.deps.room.pace.of(network, remotePort)(0, () => {
      if (stream.destroyed) return
      if (!isGrpc) refuseOther(stream)
      else if (!hasPlace) refuse(stream, RPC.resourceExhausted, 'Too many calls at once.', 1)
      else this.check(stream, head)
    })
  }

  /** Asked without a credential, by probes and balancers. */
  private check(stream: ServerHttp2Stream, head: CallHead): void {
    const nowMs = this.deps.admission.clock()
    const limited = takeFrom(this.budgetOfAddress(head.peer.remoteAddress ?? '', nowMs), 1, nowMs)
    if (limited !== undefined) return refuse(stream, RPC.resourceExhausted, limited.detail, limited.retryAfterSeconds)
    readUnaryCall(stream, head, (message) => {
      const chunks: Buffer[] = []
      let bytes = 0
      message.on('data', (chunk: Buffer) => {
        bytes += chunk.length
        if (bytes <= HEALTH_REQUEST_BYTES_MAX) chunks.push(chunk)
      })
      message.once('end', () => {
        const isServing = !('code' in this.health.readiness())
        const health = bytes > HEALTH_REQUEST_BYTES_MAX ? 'malformed' : healthOf(Buffer.concat(chunks), isServing)
        if (health === 'malformed') refuse(stream, RPC.invalidArgument, 'Not a HealthCheckRequest.')
        else if (health === undefined) refuse(stream, RPC.notFound, 'No such service.')
        else answer(stream, health)
      })
    })
  }
}

const OTHER_PROTOCOL = 'This port takes OTLP over gRPC. OTLP over HTTP has a port of its own (--intake-port).\n'

/** HTTP/2 without gRPC, such as an exporter of OTLP/HTTP at the wrong port. */
function refuseOther(stream: ServerHttp2Stream): void {
  stream.respond({ ':status': 415, 'content-type': 'text/plain' })
  stream.end(OTHER_PROTOCOL)
  // Not now: as where a call is refused.
  stream.once('finish', () => setImmediate(() => stream.close(constants.NGHTTP2_NO_ERROR)))
}
