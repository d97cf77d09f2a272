import type { InstanceFiles } from './instance.js'

export interface BannerFacts {
  readonly baseUrl: string
  readonly mode: string
  readonly files: InstanceFiles
  readonly ownsNats: boolean
  readonly ownsStore: boolean
}

/** What a person needs to know once everything runs. */
export const banner = ({ baseUrl, mode, files, ownsNats, ownsStore }: BannerFacts): string => `
  Attribution Service is ready (${mode}).

    API           ${baseUrl}
    ready?        ${baseUrl}/readyz
    credentials   ${files.credentials}
    data, logs    ${files.dataDir}
    broker        ${ownsNats ? 'private nats-server' : 'as configured'}
    read model    ${ownsStore ? 'embedded ClickHouse' : 'as configured'}

  Durability: a 202 survives the kill of every process. The broker syncs to disk every two minutes, so that a
  power cut can lose what came last. Stop with Ctrl-C.

`
