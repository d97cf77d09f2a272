import type { Addresses } from './addresses.js'
import type { InstanceFiles } from './instance.js'

export interface BannerFacts {
  readonly mode: string
  readonly files: InstanceFiles
  readonly addresses: Addresses
}

/** Printed when the instance is ready. */
export const banner = ({ mode, files, addresses: { baseUrl, nats, store } }: BannerFacts): string => `
  Attribution Service is ready (${mode}).

    API           ${baseUrl}
    ready?        ${baseUrl}/readyz
    credentials   ${files.credentials}
    data, logs    ${files.dataDir}
    broker        ${nats.ownPort !== undefined ? 'private nats-server' : 'as configured'}
    read model    ${store.ownPort !== undefined ? 'embedded ClickHouse' : 'as configured'}

  Durability: a 202 survives the kill of every process. The broker syncs to disk every two minutes: a power
  cut can lose the last two minutes. Stop with Ctrl-C.

`
