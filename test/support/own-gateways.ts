/** Gateways of one test file on a broker of its own; they end with the file. */
import { afterAll, beforeAll } from 'vitest'
import { launchBroker, type RunningBroker } from './broker.js'
import { type MutationGateway, startMutationGateway } from './mutation-gateway.js'

type Routes = Parameters<typeof startMutationGateway>[1]

/** Call where hooks can be registered. @returns a function that starts one more gateway, for use in a hook or a test */
export function ownGateways<Options>(routesOf: (options?: Options) => Routes) {
  let server: RunningBroker
  const gateways: MutationGateway[] = []
  beforeAll(async () => {
    server = await launchBroker()
  })
  afterAll(async () => {
    for (const started of gateways) await started.stop()
  })
  return async (options?: Options): Promise<MutationGateway> => {
    const started = await startMutationGateway(server.url, routesOf(options), { leaseMs: 300 })
    gateways.push(started)
    return started
  }
}
