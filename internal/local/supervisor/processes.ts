import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'

/** What marks a role's command line; a process id may have been given to a stranger since it was written down. */
const MARK: Readonly<Record<string, RegExp>> = {
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
 * With what Node runs a gateway. Requests wait for the log some milliseconds, a few hundred at a time: in the default
 * nursery of 16 MB each of its collections copies them, which took a tenth of the processor time an event. Bodies and
 * messages lie outside the heap and are counted with it: by the default growth each 20 MB of them had the whole heap
 * looked through, eight times a second under bulk requests, a quarter of their processor time.
 */
export const GATEWAY_NODE_FLAGS: readonly string[] = [
  '--min-semi-space-size=64',
  '--max-semi-space-size=64',
  '--heap-growing-percent=400',
]

/** With what Node runs a courier: what waits for its turn at the endpoints outlives a small nursery in the same way. */
export const COURIER_NODE_FLAGS = GATEWAY_NODE_FLAGS

/** Whether the process runs and is one of ours in that role. */
export function isOurProcess(pid: number, role: string): boolean {
  const commandLine = commandLineOf(pid)
  return commandLine !== undefined && (MARK[role]?.test(commandLine) ?? false)
}

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
