/** What must end before events may go to other partitions. */
import { setTimeout as sleep } from 'node:timers/promises'
import { CHECKPOINTS, MEMBERS } from '../../streams/buckets.js'
import { INVOCATIONS, INVOCATIONS_OF_ALL } from '../../streams/invocations.js'
import { type Progress, readCheckpoint } from './checkpoint.js'
import { type Broker, findStream } from './connect.js'

/**
 * Of another number of partitions: gateways, which would not all change at the same moment; events that stages have not
 * worked off, whose repeats would go elsewhere; then attributors, each of which knows the repeats of its partitions by
 * the number of before.
 */
export async function undrained(broker: Broker): Promise<string[]> {
  const log = await findStream(broker, INVOCATIONS.name)
  if (log === undefined) return []
  const obstacles: string[] = []
  const gateways = await membersOf(broker, 'gateway')
  if (gateways > 0) obstacles.push(`the number of partitions changes while no gateway runs; ${gateways} run`)
  const checkpoints = await broker.bucket(CHECKPOINTS)
  const { state } = await broker.manager.streams.info(INVOCATIONS.name, { subjects_filter: INVOCATIONS_OF_ALL })
  for (const subject of Object.keys(state.subjects ?? {}).sort()) {
    const last = await broker.manager.streams.getMessage(INVOCATIONS.name, { last_by_subj: subject })
    const checkpoint = await readCheckpoint<Progress>(checkpoints, subject.slice(INVOCATIONS_PREFIX.length))
    if (last === null || (checkpoint !== undefined && checkpoint.done >= last.seq && checkpoint.plan === undefined))
      continue
    obstacles.push(`${subject} has events that are not worked off yet: leave an attributor running until it is empty`)
  }
  const attributors = obstacles.length > 0 ? 0 : await membersOf(broker, 'attributor')
  if (attributors > 0) obstacles.push(`all events are worked off, now stop the attributors; ${attributors} run`)
  return obstacles
}

/**
 * What must end before events are partitioned by their ids on a broker of 0.3.0, which did so by their traces: its
 * gateways and attributors, and the batches that these have begun. Stage A moves events that wait to their own
 * partitions, but of a batch that was begun, some may be in the next mailbox, too.
 */
export async function unfinishedBefore(broker: Broker): Promise<string[]> {
  const obstacles: string[] = []
  for (const role of ['gateway', 'attributor']) {
    const running = await membersOf(broker, role)
    if (running > 0) obstacles.push(`stop the ${role}s of 0.3.0, of which ${running} run`)
  }
  const checkpoints = await broker.bucket(CHECKPOINTS)
  for await (const key of await checkpoints.keys(['a.*', 'b.*', 'c.*'])) {
    const checkpoint = await readCheckpoint<Progress>(checkpoints, key)
    if (checkpoint?.plan !== undefined) {
      obstacles.push(`start 0.3.0 again, and stop it with SIGTERM: it has not ended its batch of invocations.${key}`)
    }
  }
  return obstacles
}

/** The heartbeat of a process that was killed is forgotten by then. */
const OBSTACLES_MS_MAX = MEMBERS.ttlMs + 1_000
const LOOK_EVERY_MS = 500

/** The obstacles that do not go away by themselves within moments. */
export async function lastingObstacles(look: () => Promise<string[]>): Promise<string[]> {
  const until = performance.now() + OBSTACLES_MS_MAX
  let obstacles = await look()
  while (obstacles.length > 0 && performance.now() < until) {
    await sleep(LOOK_EVERY_MS)
    obstacles = await look()
  }
  return obstacles
}

async function membersOf(broker: Broker, role: string): Promise<number> {
  const members = await broker.bucket(MEMBERS)
  let count = 0
  for await (const _ of await members.keys(`${role}.>`)) count++
  return count
}

const INVOCATIONS_PREFIX = 'invocations.'
