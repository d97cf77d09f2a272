import { availableParallelism } from 'node:os'
import { endedChildrenSeconds, machineSeconds, processSeconds } from '../cpu-time.js'
import type { Load, LoadGenerator, LoadResult } from './load.js'
import { sendExactly } from './node-load.js'
import type { Ground, Server } from './servers.js'

/** One load on one server, and its cost. */
export interface Measurement extends LoadResult {
  /** Microseconds of processor time an event, all threads; undefined where there is no /proc. */
  readonly serverCpuUs: number | undefined
  readonly brokerCpuUs: number | undefined
  readonly generatorCpuUs: number | undefined
  /** Share of the machine's processors that programs outside this bench took meanwhile. */
  readonly strangersShare: number | undefined
  /** The requests beside the load whose statuses were read one by one. */
  readonly probe: LoadResult
}

const PROBES = 64

/** @param others process ids that belong to the bench besides server and broker */
export async function measure(
  generator: LoadGenerator,
  server: Server,
  load: Omit<Load, 'port'>,
  ground: Ground,
  requestsFile: string,
  others: readonly number[] = [],
): Promise<Measurement> {
  const probe = await sendExactly(PROBES, server.port, requestsFile, ground.processes)
  const before = cpuOf(server, ground, others)
  const startedAt = performance.now()
  const result = await generator.run({ ...load, port: server.port })
  const seconds = (performance.now() - startedAt) / 1000
  const after = cpuOf(server, ground, others)

  const perEvent = (which: keyof CpuSeconds): number | undefined => {
    const spent = difference(after[which], before[which])
    return spent && (spent * 1e6) / result.accepted
  }
  const all = difference(after.machine, before.machine)
  const ours = difference(after.bench, before.bench)
  return {
    ...result,
    probe,
    serverCpuUs: perEvent('server'),
    brokerCpuUs: server.name === 'bare' ? undefined : perEvent('broker'),
    generatorCpuUs: perEvent('generator'),
    strangersShare:
      all === undefined || ours === undefined
        ? undefined
        : Math.max(0, (all - ours) / (seconds * availableParallelism())),
  }
}

interface CpuSeconds {
  readonly server: number | undefined
  readonly broker: number | undefined
  readonly generator: number | undefined
  readonly bench: number | undefined
  readonly machine: number | undefined
}

function cpuOf(server: Server, { brokerPid }: Ground, others: readonly number[]): CpuSeconds {
  const parts = {
    server: sum([server.pid, ...(server.siblings ?? [])].map(processSeconds)),
    broker: processSeconds(brokerPid),
    // It is the only child that ends between two looks.
    generator: endedChildrenSeconds(),
  }
  const rest = [process.pid, ...others].map(processSeconds)
  return { ...parts, bench: sum([...Object.values(parts), ...rest]), machine: machineSeconds() }
}

const sum = (parts: readonly (number | undefined)[]): number | undefined =>
  parts.reduce((all, part) => (all === undefined || part === undefined ? undefined : all + part), 0)

const difference = (after: number | undefined, before: number | undefined): number | undefined =>
  after === undefined || before === undefined ? undefined : after - before
