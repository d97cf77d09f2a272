/**
 * The two parts of undici that a courier uses. The package's own entry also loads `fetch`, caches and mocks, six
 * megabytes of memory.
 */
declare module 'undici/lib/dispatcher/client.js' {
  import { Client } from 'undici'

  export = Client
}
declare module 'undici/lib/core/connect.js' {
  import { buildConnector } from 'undici'

  export = buildConnector
}
