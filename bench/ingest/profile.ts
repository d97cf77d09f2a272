import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { table } from '../table.js'
import type { LoadGenerator } from './load.js'
import { measure } from './measure.js'
import { type Ground, startGateway } from './servers.js'

const PROFILE_SECONDS = 10
const ROWS = 40
/** A regular expression's name is its text. */
const NAME_LENGTH_MAX = 70

/** The parts of a .cpuprofile that are read. */
interface CpuProfile {
  readonly nodes: readonly {
    readonly id: number
    readonly callFrame: { readonly functionName: string; readonly url: string; readonly lineNumber: number }
  }[]
  readonly samples: readonly number[]
  readonly timeDeltas: readonly number[]
}

/**
 * Where the gateway's time goes under full load: prints the functions with the most time of their own, in microseconds
 * an event. Node counts what runs in native code between two calls of JavaScript as idle: receiving and parsing HTTP is
 * in the processor time, and in no row.
 */
export async function profileGateway(
  ground: Ground,
  storeUrl: string,
  generator: LoadGenerator,
  requestsFile: string,
  connections: number,
  folder: string,
): Promise<void> {
  const server = await startGateway(ground, storeUrl, {
    nodeFlags: ['--cpu-prof', `--cpu-prof-dir=${folder}`, '--cpu-prof-interval=250'],
  })
  const load = { connections, pauseMs: 0 }
  const warmUp = await measure(generator, server, { ...load, seconds: 3 }, ground, requestsFile)
  const measured = await measure(generator, server, { ...load, seconds: PROFILE_SECONDS }, ground, requestsFile)
  await ground.processes.stop()

  const newest = readdirSync(folder)
    .filter((name) => name.endsWith('.cpuprofile'))
    .sort()
    .at(-1)
  if (newest === undefined) throw new Error('the gateway has written no profile')
  const file = join(folder, newest)
  const times = selfTimes(JSON.parse(readFileSync(file, 'utf8')) as CpuProfile)
  const events = warmUp.accepted + measured.accepted
  const total = times.reduce((sum, [, micros]) => sum + micros, 0)
  const rows = times
    .slice(0, ROWS)
    .map(([name, micros]) => [name, (micros / events).toFixed(2), `${((micros / total) * 100).toFixed(1)} %`])
  const perEvent = measured.serverCpuUs?.toFixed(1) ?? '-'
  process.stdout.write(`
With the profiler on: ${Math.round(measured.eventsPerSecond)} events/s, ${perEvent} us of processor time an event,
${(total / events).toFixed(1)} us of it in JavaScript and its callees, which are the rows. ${file}

${table([['function', 'us/event', 'share'], ...rows])}`)
}

/** Self time in microseconds by function, largest first. */
function selfTimes({ nodes, samples, timeDeltas }: CpuProfile): [name: string, micros: number][] {
  const names = new Map(nodes.map(({ id, callFrame }) => [id, nameOf(callFrame)]))
  const micros = new Map<string, number>()
  for (const [i, id] of samples.entries()) {
    const name = names.get(id) ?? '?'
    micros.set(name, (micros.get(name) ?? 0) + (timeDeltas[i] ?? 0))
  }
  micros.delete('(idle)')
  return [...micros].sort(([, one], [, other]) => other - one)
}

function nameOf({ functionName, url, lineNumber }: CpuProfile['nodes'][number]['callFrame']): string {
  const where = url.replace(/^.*\/(dist|node_modules)\//, '')
  const name = where === '' ? functionName || '(native)' : `${functionName || '(anonymous)'} ${where}:${lineNumber + 1}`
  return name.length > NAME_LENGTH_MAX ? `${name.slice(0, NAME_LENGTH_MAX - 3)}...` : name
}
