import type { Sql } from 'postgres'
import { endedChildrenSeconds, parentOf, processSeconds } from '../cpu-time.js'
import { pidsOf } from '../trickle/process-figures.js'

/** Processor time in seconds that each side has used for questions: what neighbours on the machine do not move. */
export interface Cores {
  readonly ours: () => number
  readonly theirs: () => number
}

/** @param sql one connection, over which all questions are asked */
export async function coresOf(upPid: number, sql: Sql): Promise<Cores> {
  const answering = pidsOf(upPid, ['gateway', 'store'])
  const backend = Number((await sql`SELECT pg_backend_pid() AS pid`)[0]?.['pid'])
  const server = parentOf(backend)
  return {
    ours: () => answering.reduce((sum, pid) => sum + (processSeconds(pid) ?? 0), 0),
    // Parallel workers of a statement have ended with it.
    theirs: () => (processSeconds(backend) ?? 0) + (endedChildrenSeconds(server) ?? 0),
  }
}
