import { listeningUrl } from '../config/listening-url.js'
import { ConfigError } from '../config/settings.js'
import { buildOf, describeBuild } from './builds.js'
import type { Route } from './route.js'
import { type RunningServer, type ServerDeps, serve } from './server.js'
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
  readonly trustedProxies: readonly string[]
  readonly httpParser: 'auto' | 'uws' | 'node'
}

/** Where the service will listen: not before it can serve, so that no load balancer sends it anything. */
export interface OpenHttp {
  readonly baseUrl: string
  readonly errorDocsUrl: string
  /** The parser, for the log and the other gateways. */
  readonly httpBuild: string
  /** @throws ConfigError when the address cannot be listened on */
  serve(routes: readonly Route[], deps: ServerDeps): Promise<RunningServer>
}

/** @throws ConfigError when the certificate cannot be read, or no parser loads */
export function openHttp(settings: HttpSettings): OpenHttp {
  const tls = readTls(settings)
  const { host, port, trustedProxies } = settings
  const baseUrl = settings.baseUrl === '' ? listeningUrl(host, port, tls !== undefined) : settings.baseUrl
  const errorDocsUrl = settings.errorDocsUrl === '' ? `${baseUrl}/docs/errors` : settings.errorDocsUrl
  const build = buildOf(settings.httpParser)
  const address = { host, port, errorDocsUrl, tls, trustedProxies, build }
  const portTaken = (cause: Error): never => {
    throw new ConfigError(`${cause.message}: is another process using the port?`, { cause })
  }
  const httpBuild = describeBuild(build)
  return { baseUrl, errorDocsUrl, httpBuild, serve: (routes, deps) => serve(address, routes, deps).catch(portTaken) }
}
