import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/** A pattern in each role's command line. A stored process id may belong to an unrelated process by now. */
const COMMAND_LINES: Readonly<Record<string, RegExp>> = {
  up: /(cmd[/\\]up[/\\]main\.js|setup[/\\]start\.mjs)/,
  nats: /nats-server/,
  store: /cmd[/\\]store[/\\]main\.js/,
  gateway: /cmd[/\\]gateway[/\\]main\.js/,
  exporter: /cmd[/\\]exporter[/\\]main\.js/,
  attributor: /cmd[/\\]attributor[/\\]main\.js/,
  trainer: /cmd[/\\]trainer[/\\]main\.js/,
  sentinel: /cmd[/\\]sentinel[/\\]main\.js/,
  courier: /cmd[/\\]courier[/\\]main\.js/,
}

/**
 * Node flags of a role. What waits in a gateway and a courier outlives a young generation of 16 MB: requests for the
 * log, some milliseconds, and deliveries for their endpoint. Each scavenge copied them, which took a tenth of the
 * processor time per event. The generation begins with 1 MB and grows to 64 MB within a second of load (measured):
 * with a minimum, a process at rest filled as much with garbage before it collected any. Bodies and messages are
 * outside the heap but count towards its growth: by default each 20 MB of them started a mark-sweep of the whole
 * heap, eight times per second under bulk requests, a quarter of their processor time.
 */
export const nodeFlagsOf = (role: string): readonly string[] =>
  role === 'gateway' || role === 'courier' ? ['--max-semi-space-size=64', '--heap-growing-percent=400'] : []

/**
 * Node flags that name the instance's folder on the command line of a role (and put diagnostic reports beside its
 * logs).
 */
export const flagsOfFolder = (logsDir: string): readonly string[] => [`--diagnostic-dir=${logsDir}`]

/** Whether the process runs and is one of our processes in that role, on any data folder. */
export function isOurProcess(pid: number, role: string): boolean {
  const commandLine = commandLineOf(pid)
  return commandLine !== undefined && (COMMAND_LINES[role]?.test(commandLine) ?? false)
}

/** Whether the process runs, is one of our processes in that role, and its command line names this data folder. */
export function isChildOf(dataDir: string, pid: number, role: string): boolean {
  const named = role === 'nats' ? `--config ${natsConfigIn(dataDir)}` : flagsOfFolder(join(dataDir, 'logs')).join(' ')
  return isOurProcess(pid, role) && `${commandLineOf(pid)?.trimEnd()} `.includes(` ${named} `)
}

export const natsConfigIn = (dataDir: string): string => join(dataDir, 'nats', 'nats-server.conf')

function commandLineOf(pid: number): string | undefined {
  try {
    if (existsSync('/proc/self/cmdline')) {
      // A zombie has an empty command line.
      return readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ')
    }
    return execFileSync('ps', ['-o', 'command=', '-p', String(pid)], { encoding: 'utf8' })
  } catch {
    return undefined
  }
}
