import { listeningUrl } from '../config/listening-url.js'
import { ConfigError } from '../config/settings.js'
import type { Logger } from '../telemetry/log.js'
import type { Route } from './route.js'
import { type RunningServer, type ServerDeps, serve, serveUnready } from './server.js'
import { readTls } from './tls.js'

export interface HttpSettings {
  readonly host: string
  readonly port: number
  /** Under which callers reach the service; empty: where it listens. */
  readonly baseUrl: string
  /** Of the pages about error codes; empty: those of this service. */
  readonly errorDocsUrl: string
  readonly tlsCertFile: string
  readonly tlsKeyFile: string
}

/** A port that is listened on, and still answers 503 to everything but `/healthz`. */
export interface OpenHttp {
  readonly baseUrl: string
  readonly errorDocsUrl: string
  /** Serves the routes from now on. */
  serve(routes: readonly Route[], deps: ServerDeps): Promise<RunningServer>
}

/** @throws ConfigError when the certificate cannot be read or the address cannot be listened on */
export async function openHttp(settings: HttpSettings, log: Logger): Promise<OpenHttp> {
  const tls = readTls(settings)
  const { host, port } = settings
  const baseUrl = settings.baseUrl === '' ? listeningUrl(host, port, tls !== undefined) : settings.baseUrl
  const errorDocsUrl = settings.errorDocsUrl === '' ? `${baseUrl}/docs/errors` : settings.errorDocsUrl
  const address = { host, port, errorDocsUrl, tls }
  const portTaken = (cause: Error): never => {
    throw new ConfigError(`${cause.message}: is another process using the port?`, { cause })
  }
  const stopUnready = await serveUnready(address, log).catch(portTaken)
  return {
    baseUrl,
    errorDocsUrl,
    async serve(routes, deps) {
      const server = await serve(address, routes, deps).catch(portTaken)
      stopUnready()
      return server
    },
  }
}
