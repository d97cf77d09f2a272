import { fileURLToPath } from 'node:url'
import type { Processes } from '../processes.js'
import type { LoadGenerator, LoadResult } from './load.js'

const SENDER = fileURLToPath(new URL('./open-loop-process.js', import.meta.url))

/** Latencies count from the instant a request was due. */
export interface OpenLoopResult extends LoadResult {
  /** From the instant a request was due to the generator turning to it: its own share of the latency. */
  readonly lagP99Us: number
}

/** Requests at a constant rate; every answer is read and waited for. */
export const openLoopGenerator = (requestsFile: string, processes: Processes, rate: number): LoadGenerator => ({
  name: `Node ${process.version} sockets, ${rate} requests/s`,
  async run({ port, connections, seconds }): Promise<OpenLoopResult> {
    const args = [SENDER, port, requestsFile, connections, rate, seconds].map(String)
    return JSON.parse(await processes.run('the load generator', process.execPath, args)) as OpenLoopResult
  },
})
