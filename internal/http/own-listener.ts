import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer, type RequestListener, type Server } from 'node:http'
import { createServer as createTlsServer, type Server as TlsServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import type { Config } from '../config/settings.js'
import type { Logger } from '../telemetry/log.js'
import { closeListener } from './close-listener.js'
import { answerHealth, type ListenerHealth } from './listener-health.js'
import { refuseUnreadable, TIMEOUTS } from './node-settings.js'
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

export interface RunningListener {
  /** As that of the API's server. */
  drain(isReplaced?: boolean): Promise<void>
}

const NOT_LISTENING: RunningListener = { drain: async () => undefined }

const SILENT_MS_MAX = 90_000
const CONNECTIONS_MAX = 2_000
const DRAIN_POLL_MS = 50

/**
 * Listens on a port beside that of the API, with its host and TLS files: Node's own HTTP server, for clients that need
 * what uWebSockets.js reads leniently, such as `Transfer-Encoding: chunked`.
 *
 * A port that another process has costs this listener and nothing else: it is logged.
 */
export async function listenBesideApi(
  { host, port, name, headBytesMax, health, leaving, ...settings }: OwnListenerSettings,
  onRequest: RequestListener,
  log: Logger,
): Promise<RunningListener> {
  if (port === 0) return NOT_LISTENING
  const answer: RequestListener = (message, response) => {
    if (leaving.aborted) response.setHeader('Connection', 'close')
    if (!answerHealth(message, response, health)) onRequest(message, response)
  }
  const server = createListener(readTls(settings), answer, name, headBytesMax, log)
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
      if (isReplaced) await closeListener(() => server.close())
      else server.close()
      // Connections that are busy now are kept alive after their answers.
      const closing = setInterval(() => server.closeIdleConnections(), DRAIN_POLL_MS)
      await closed
      clearInterval(closing)
    },
  }
}

function createListener(
  tls: TlsFiles | undefined,
  onRequest: RequestListener,
  name: string,
  headBytesMax: number | undefined,
  log: Logger,
): Server | TlsServer {
  const options = { ...TIMEOUTS, ...(headBytesMax !== undefined && { maxHeaderSize: headBytesMax }) }
  const server =
    tls === undefined ? createServer(options, onRequest) : createTlsServer({ ...options, ...readPem(tls) }, onRequest)
  server.on('clientError', refuseUnreadable)
  server.maxConnections = CONNECTIONS_MAX
  server.setTimeout(SILENT_MS_MAX)
  if (tls !== undefined) {
    const takeOver = async (): Promise<void> => {
      ;(server as TlsServer).setSecureContext(readPem(tls))
      log.info(`TLS certificate of the ${name} listener reloaded`)
    }
    const refused = (cause: unknown): void =>
      log.error({ err: cause }, `cannot reload the TLS certificate of the ${name} listener`)
    server.once('close', followTlsFiles(tls, takeOver, refused))
  }
  return server
}

const readPem = ({ certFile, keyFile }: TlsFiles) => ({ cert: readFileSync(certFile), key: readFileSync(keyFile) })

function listening(server: Server | TlsServer, host: string, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen({ host, port, exclusive: true }, () => {
      server.off('error', reject)
      resolve()
    })
  })
}
