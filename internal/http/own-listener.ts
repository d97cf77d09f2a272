import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer, type RequestListener } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import type { AddressInfo, Server, Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Server as TlsServer } from 'node:tls'
import type { Config } from '../config/settings.js'
import type { Logger } from '../telemetry/log.js'
import { closeListener, closeSocket } from './close-listener.js'
import { ConnectionShares } from './connection-shares.js'
import { answerHealth, type ListenerHealth } from './listener-health.js'
import { refuseUnreadable, SILENT_MS_MAX, TIMEOUTS } from './node-settings.js'
import { followTlsFiles, readTls, type TlsFiles } from './tls.js'

export interface OwnListenerSettings extends Config<'tlsCertFile' | 'tlsKeyFile'> {
  readonly host: string
  /** 0: it does not listen. */
  readonly port: number
  /** As the log calls it, such as `intake`; its port is set by `--<name>-port`. */
  readonly name: string
  /** Of the head of a request. Default: Node's 16 kB. */
  readonly headBytesMax?: number
  readonly health: ListenerHealth
  /** Aborts when the process is about to stop: each answer then ends its connection. */
  readonly leaving: AbortSignal
}

/** A server of Node, and what is different of HTTP/1.1 and HTTP/2. */
export interface OwnServer {
  /** @param pem undefined: without TLS @param connections to be told of requests */
  readonly create: (pem: Pem | undefined, connections: ConnectionShares) => Server & { setTimeout(ms: number): unknown }
  /** Closes connections without requests; those that are busy now may be kept alive after their answers. */
  readonly closeIdle: () => void
}

interface Pem {
  readonly cert: Buffer
  readonly key: Buffer
}

export interface RunningListener {
  /** As that of the API's server. */
  drain(isReplaced?: boolean): Promise<void>
}

const NOT_LISTENING: RunningListener = { drain: async () => undefined }

export const CONNECTIONS_MAX = 2_000
const DRAIN_POLL_MS = 50
/** Longer than an event waits for the log, and less than a process has for its end. */
const DRAIN_MS_MAX = 5_000

/**
 * Listens on a port beside that of the API, with its host and TLS files: Node's own HTTP server, for clients that need
 * what uWebSockets.js reads leniently, such as `Transfer-Encoding: chunked`.
 */
export function listenBesideApi(
  { headBytesMax, health, leaving, ...settings }: OwnListenerSettings,
  onRequest: RequestListener,
  log: Logger,
): Promise<RunningListener> {
  const answerFor =
    (connections: ConnectionShares): RequestListener =>
    (message, response) => {
      const { socket } = message
      connections.beginRequest(socket)
      response.once('close', () => connections.endRequest(socket))
      if (leaving.aborted) response.setHeader('Connection', 'close')
      if (!answerHealth(message, response, health)) onRequest(message, response)
    }
  const options = { ...TIMEOUTS, ...(headBytesMax !== undefined && { maxHeaderSize: headBytesMax }) }
  let server: ReturnType<typeof createServer> | undefined
  const create: OwnServer['create'] = (pem, connections) => {
    const answer = answerFor(connections)
    server = pem === undefined ? createServer(options, answer) : createTlsServer({ ...options, ...pem }, answer)
    return server.on('clientError', refuseUnreadable)
  }
  return listenWith(settings, { create, closeIdle: () => server?.closeIdleConnections() }, log)
}

/** The same of any server. A port that another process has costs this listener and nothing else: it is logged. */
export async function listenWith(
  { host, port, name, ...settings }: Omit<OwnListenerSettings, 'headBytesMax' | 'health' | 'leaving'>,
  { create, closeIdle }: OwnServer,
  log: Logger,
): Promise<RunningListener> {
  if (port === 0) return NOT_LISTENING
  const server = createListener(readTls(settings), create, name, log)
  try {
    await listening(server, host, port)
  } catch (cause) {
    log.warn({ err: cause, host, port }, `${name} is off: its port cannot be used; choose another with --${name}-port`)
    return NOT_LISTENING
  }
  log.info({ port: (server.address() as AddressInfo).port }, `${name} listening`)
  return {
    async drain(isReplaced = false) {
      const closed = once(server, 'close')
      if (isReplaced) await closeListener(() => closeSocket(server))
      else server.close()
      closeIdle()
      const closing = setInterval(closeIdle, DRAIN_POLL_MS)
      // One that has never sent a byte counts as busy.
      await Promise.race([closed, sleep(DRAIN_MS_MAX, undefined, { ref: false })])
      clearInterval(closing)
    },
  }
}

function createListener(
  tls: TlsFiles | undefined,
  create: OwnServer['create'],
  name: string,
  log: Logger,
): ReturnType<OwnServer['create']> {
  const connections = new ConnectionShares(CONNECTIONS_MAX)
  const server = create(tls && readPem(tls), connections)
  server.prependListener('connection', (socket: Socket) => connections.add(socket))
  server.setTimeout(SILENT_MS_MAX)
  if (tls !== undefined) {
    const takeOver = async (): Promise<void> => {
      ;(server as Server as TlsServer).setSecureContext(readPem(tls))
      log.info(`TLS certificate of the ${name} listener reloaded`)
    }
    const refused = (cause: unknown): void =>
      log.error({ err: cause }, `cannot reload the TLS certificate of the ${name} listener`)
    server.once('close', followTlsFiles(tls, takeOver, refused))
  }
  return server
}

const readPem = ({ certFile, keyFile }: TlsFiles): Pem => ({ cert: readFileSync(certFile), key: readFileSync(keyFile) })

function listening(server: Server, host: string, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen({ host, port, exclusive: true }, () => {
      server.off('error', reject)
      resolve()
    })
  })
}
