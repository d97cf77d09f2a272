import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { table } from '../table.js'
import type { LoadGenerator } from './load.js'
import { type Ground, startGateway } from './servers.js'

const PROFILE_SECONDS = 10
const ROWS = 45

/** What is read of a .cpuprofile. */
interface CpuProfile {
  readonly nodes: readonly {
    readonly id: number
    readonly callFrame: { readonly functionName: string; readonly url: string; readonly lineNumber: number }
  }[]
  readonly samples: readonly number[]
  readonly timeDeltas: readonly number[]
}

/** Where the gateway's time goes under full load: prints the functions with the most time of their own. */
export async function profileGateway(
  ground: Ground,
  generator: LoadGenerator,
  connections: number,
  folder: string,
): Promise<void> {
  const flags = ['--cpu-prof', `--cpu-prof-dir=${folder}`, '--cpu-prof-interval=250']
  const { port } = await startGateway(ground, 'http://127.0.0.1:9', flags)
  await generator.run({ port, connections, seconds: 3, pauseMs: 0 })
  const { eventsPerSecond } = await generator.run({ port, connections, seconds: PROFILE_SECONDS, pauseMs: 0 })
  await ground.processes.stop()

  const newest = readdirSync(folder)
    .filter((name) => name.endsWith('.cpuprofile'))
    .sort()
    .at(-1)
  if (newest === undefined) throw new Error('the gateway has written no profile')
  const file = join(folder, newest)
  process.stdout.write(`
${Math.round(eventsPerSecond)} events/s with the profiler on; shares of the time that was not idle; ${file}

${table([['function', 'share'], ...selfTimes(JSON.parse(readFileSync(file, 'utf8')) as CpuProfile).slice(0, ROWS)])}`)
}

function selfTimes({ nodes, samples, timeDeltas }: CpuProfile): string[][] {
  const names = new Map(nodes.map(({ id, callFrame }) => [id, nameOf(callFrame)]))
  const micros = new Map<string, number>()
  for (const [i, id] of samples.entries()) {
    const name = names.get(id) ?? '?'
    micros.set(name, (micros.get(name) ?? 0) + (timeDeltas[i] ?? 0))
  }
  micros.delete('(idle)')
  const total = [...micros.values()].reduce((sum, of) => sum + of, 0)
  return [...micros]
    .sort(([, one], [, other]) => other - one)
    .map(([name, of]) => [name, `${((of / total) * 100).toFixed(1)} %`])
}

function nameOf({ functionName, url, lineNumber }: CpuProfile['nodes'][number]['callFrame']): string {
  const where = url.replace(/^.*\/(dist|node_modules)\//, '')
  return where === '' ? functionName : `${functionName || '(anonymous)'} ${where}:${lineNumber + 1}`
}
