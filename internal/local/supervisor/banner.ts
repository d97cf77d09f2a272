import type { Addresses } from './role-addresses.js'
import type { InstanceFiles } from './supervised-instance.js'

export interface BannerFacts {
  readonly mode: string
  readonly files: InstanceFiles
  readonly addresses: Addresses
  /** The build of the HTTP parser, such as `uWebSockets.js 20.57`. */
  readonly http: string
  readonly consoleUrl: string
  /** Undefined: there is none. */
  readonly signInLink: string | undefined
  /** Undefined: they are off. */
  readonly metrics: string | undefined
}

/** Printed when the instance is ready. */
export const banner = ({ addresses: { baseUrl, intake, nats, store }, ...facts }: BannerFacts): string => {
  const { mode, files, http, consoleUrl, signInLink, metrics } = facts
  return `
  Attribution Service is ready (${mode}).

    console       ${consoleUrl}${
      signInLink === undefined
        ? ''
        : `
    sign in       ${signInLink}
                  (once, within two minutes, on this machine)`
    }
    API           ${baseUrl}
    ready?        ${baseUrl}/readyz
    intake        ${intake ?? 'off'}
    metrics       ${metrics ?? 'off (--metrics-port)'}
    credentials   ${files.credentials}
    data, logs    ${files.dataDir}
    broker        ${nats.ownPort !== undefined ? 'private nats-server' : 'as configured'}
    HTTP parser   ${http} on Node ${process.versions.node}
    read model    ${store.ownPort !== undefined ? 'embedded ClickHouse' : 'as configured'}

  Durability: a 202 survives the kill of every process. The broker syncs to disk every two minutes: a power
  cut can lose the last two minutes. Stop with Ctrl-C.

`
}
