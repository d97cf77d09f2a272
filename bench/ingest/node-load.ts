import { fileURLToPath } from 'node:url'
import type { Processes } from '../processes.js'
import type { LoadGenerator, LoadResult } from './load.js'

const SENDER = fileURLToPath(new URL('./node-load-process.js', import.meta.url))

/** Our own generator: slower than wrk, but it sees every status and waits for the last answer. */
export const nodeGenerator = (requestsFile: string, processes: Processes): LoadGenerator => ({
  name: `Node ${process.version} sockets`,
  run: ({ port, connections, seconds, pauseMs }) =>
    send(processes, [String(port), requestsFile, String(connections), String(pauseMs), 'seconds', String(seconds)]),
})

/** Sends an exact number of requests over 64 connections; each is answered when it returns. */
export const sendExactly = (
  count: number,
  port: number,
  requestsFile: string,
  processes: Processes,
): Promise<LoadResult> => send(processes, [String(port), requestsFile, '64', '0', 'requests', String(count)])

async function send(processes: Processes, args: readonly string[]): Promise<LoadResult> {
  return JSON.parse(await processes.run('the load generator', process.execPath, [SENDER, ...args])) as LoadResult
}
