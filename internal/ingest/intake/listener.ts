import { readFileSync } from 'node:fs'
import { createServer, type RequestListener, type Server } from 'node:http'
import { createServer as createTlsServer, type Server as TlsServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import type { Config } from '../../config/settings.js'
import { followTlsFiles, readTls, type TlsFiles } from '../../http/tls.js'
import type { Logger } from '../../telemetry/log.js'
import { type IntakeDeps, intakeRequests } from './intake-requests.js'
import type { IntakeRoute } from './route.js'

export interface IntakeSettings extends Config<'tlsCertFile' | 'tlsKeyFile'> {
  readonly host: string
  /** 0: there is no intake. */
  readonly port: number
}

export interface RunningIntake {
  /** Accepts no new requests; resolves when every open one has its answer. */
  drain(): Promise<void>
}

const NO_INTAKE: RunningIntake = { drain: async () => undefined }

/** A slow or silent client costs a connection for no longer than this. */
const TIMEOUTS = { headersTimeout: 10_000, requestTimeout: 60_000, keepAliveTimeout: 75_000 } as const
const SILENT_MS_MAX = 90_000
const CONNECTIONS_MAX = 2_000
const DRAIN_POLL_MS = 50

/**
 * Listens for what others send, beside the API: Node's own HTTP server, since exporters of OpenTelemetry always send
 * `Transfer-Encoding: chunked`, which the API refuses (`deploy/decisions/intake-listener.md`). Only the gateway process has
 * the admission in memory, so that it listens there.
 *
 * A port that another process has costs the intake and nothing else: it is logged.
 */
export async function startIntake(
  { host, port, ...settings }: IntakeSettings,
  routes: readonly IntakeRoute[],
  deps: IntakeDeps,
): Promise<RunningIntake> {
  if (port === 0) return NO_INTAKE
  const { log } = deps
  const answer = intakeRequests(routes, deps)
  const server = createListener(readTls(settings), (message, response) => void answer(message, response), log)
  try {
    await listening(server, host, port)
  } catch (cause) {
    log.warn({ err: cause, host, port }, 'intake is off: its port cannot be used; choose another with --intake-port')
    return NO_INTAKE
  }
  log.info({ port: (server.address() as AddressInfo).port }, 'intake listening')
  return {
    drain: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        // Connections that are busy now are kept alive after their answers.
        const closing = setInterval(() => server.closeIdleConnections(), DRAIN_POLL_MS)
        server.once('close', () => clearInterval(closing))
      }),
  }
}

function createListener(tls: TlsFiles | undefined, onRequest: RequestListener, log: Logger): Server | TlsServer {
  const server =
    tls === undefined ? createServer(TIMEOUTS, onRequest) : createTlsServer({ ...TIMEOUTS, ...readPem(tls) }, onRequest)
  server.maxConnections = CONNECTIONS_MAX
  server.setTimeout(SILENT_MS_MAX)
  if (tls !== undefined) {
    const takeOver = async (): Promise<void> => {
      ;(server as TlsServer).setSecureContext(readPem(tls))
      log.info('TLS certificate of the intake reloaded')
    }
    const refused = (cause: unknown): void =>
      log.error({ err: cause }, 'cannot reload the TLS certificate of the intake')
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
