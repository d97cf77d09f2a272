import { once } from 'node:events'
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { masterKeyText } from '../../support/master-keys.js'
import { launch } from '../../support/processes.js'
import { privateFolder } from '../../support/store.js'

/** A broker that takes connections and never says a word. */
let broker: Server
const connections = new Set<Socket>()

beforeAll(async () => {
  broker = createServer((socket) => {
    connections.add(socket)
    socket.on('error', () => undefined)
  }).listen(0, '127.0.0.1')
  await once(broker, 'listening')
})
afterAll(() => {
  for (const socket of connections) socket.destroy()
  broker.close()
})

test.each(['attributor', 'courier', 'exporter', 'gateway', 'sentinel', 'trainer'])(
  'a %s that still waits for the broker ends with its supervisor',
  async (role) => {
    const connected = once(broker, 'connection')
    const launched = launch(fileURLToPath(new URL(`../../../dist/cmd/${role}/main.js`, import.meta.url)), {
      env: {
        ATTRIBUTION_NATS_URL: `nats://127.0.0.1:${(broker.address() as AddressInfo).port}`,
        ATTRIBUTION_MASTER_KEY: masterKeyText().trim(),
        ATTRIBUTION_STORE_URL: 'http://127.0.0.1:1',
        ATTRIBUTION_STORE_PASSWORD: 'none',
        ATTRIBUTION_DATA_DIR: privateFolder(),
        ATTRIBUTION_PORT: '0',
      },
    })
    await Promise.race([connected, launched.exited])

    expect(await launched.endStdin()).toEqual({ code: 0, signal: null })
    // On a slow machine it has said by then what it waits for.
    expect(launched.lines.filter((line) => !/^waiting for .*: it does not answer$/.test(line))).toEqual([])
  },
)
