import { listeningUrl } from '../config/listening-url.js'
import { ConfigError } from '../config/settings.js'
import type { Logger } from '../telemetry/log.js'
import type { Route } from './route.js'
import { type RunningServer, type ServerDeps, serve, serveUnready } from './server.js'
import { readTls } from './tls.js'

export interface HttpSettings {
  readonly host: string
  readonly port: number
  /** Public URL of the service; empty: the listening address. */
  readonly baseUrl: string
  /** Base URL of the error code pages; empty: those of this service. */
  readonly errorDocsUrl: string
  readonly tlsCertFile: string
  readonly tlsKeyFile: string
}

/** A listening port that replies 503 to everything but `/healthz` until `serve` is called. */
export interface OpenHttp {
  readonly baseUrl: string
  readonly errorDocsUrl: string
  /** Starts serving the routes. */
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
