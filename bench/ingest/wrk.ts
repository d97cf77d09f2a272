import { randomInt } from 'node:crypto'
import { fileURLToPath } from 'node:url'
import type { Processes } from '../processes.js'
import type { Wrk } from './find-wrk.js'
import type { LoadGenerator } from './load.js'
import { PATH } from './requests.js'

/** From dist/bench/ingest to the checkout. */
const scriptFile = (name: string): string =>
  fileURLToPath(new URL(`../../../bench/ingest/${name}.lua`, import.meta.url))

interface WrkReport {
  readonly requests: number
  readonly micros: number
  readonly p50: number
  readonly p99: number
  readonly status: number
  readonly socket: number
}

/**
 * wrk with one thread. It tells only statuses from 400 on from the rest; that the rest are 202s is checked by a probe
 * beside it, and by the content of the log.
 *
 * @param script what makes requests of the file: load.lua or bulk.lua
 */
export const wrkGenerator = (
  { command, env, version }: Wrk,
  requestsFile: string,
  processes: Processes,
  script: 'load' | 'bulk' = 'load',
  eventsPerRequest = 1,
): LoadGenerator => ({
  name: `wrk ${version}`,
  async run({ port, connections, seconds, pauseMs }) {
    const seed = randomInt(2 ** 31)
    const output = await processes.run(
      'wrk',
      command,
      [
        '-t1',
        `-c${connections}`,
        `-d${seconds}s`,
        '--timeout',
        '10s',
        '--latency',
        '-s',
        scriptFile(script),
        `http://127.0.0.1:${port}${PATH}`,
        '--',
        requestsFile,
        String(seed),
        String(pauseMs),
      ],
      env,
    )
    const line = /^LOAD (.*)$/m.exec(output)?.[1]
    if (line === undefined) throw new Error(`wrk did not report: ${output}`)
    const report = JSON.parse(line) as WrkReport
    if (report.status > 0)
      throw new Error(`${report.status} of ${report.requests} answers were errors (status 400 or above)`)
    if (report.socket > 0) throw new Error(`${report.socket} connections failed or timed out`)
    return {
      eventsPerSecond: (report.requests * eventsPerRequest) / (report.micros / 1e6),
      accepted: report.requests * eventsPerRequest,
      unseenMax: connections * eventsPerRequest,
      p50Us: report.p50,
      p99Us: report.p99,
    }
  },
})
