/**
 * Real processes under test: start one, wait for a line that it writes, end it, read its exit status.
 *
 * Processes that still run at the end of the test file are killed, so that a failed test leaves none.
 */
import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { localEnvironment } from './local-environment.js'
import { atEnd } from './run/at-end.js'

export interface Exit {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
}

export interface LaunchOptions {
  readonly args?: readonly string[]
  /** Besides the environment of the tests. */
  readonly env?: Readonly<Record<string, string>>
  readonly cwd?: string
  /** Registers when it is killed if it still runs: by default at the end of the test file. */
  readonly until?: (end: () => unknown) => void
}

export interface Launched {
  readonly pid: number
  /** Every line so far, of both streams in the order they came. */
  readonly lines: readonly string[]
  /** Resolves once the process has ended and all it wrote has been read. */
  readonly exited: Promise<Exit>
  /**
   * Resolves with the first line, written already or yet to come, that matches. Rejects when the process ends first.
   */
  line(pattern: RegExp): Promise<string>
  kill(signal: NodeJS.Signals): Promise<Exit>
  /** Ends its stdin, which our roles take as the death of their parent. */
  endStdin(): Promise<Exit>
}

/** Starts a script with the current Node.js, `launch('dist/cmd/store/main.js', { args: ['--store-port', '9000'] })`. */
export const launch = (script: string, options: LaunchOptions = {}): Launched =>
  launchCommand(process.execPath, { ...options, args: [script, ...(options.args ?? [])] })

/** Starts a program, `launchCommand('npm', { args: ['start'] })`. */
export function launchCommand(command: string, options: LaunchOptions = {}): Launched {
  const child = spawn(command, options.args ?? [], {
    cwd: options.cwd,
    env: { ...localEnvironment(), ...options.env },
    stdio: ['pipe', 'pipe', 'pipe'],
  })
  const lines: string[] = []
  const waiting = new Set<() => void>()
  const arrive = (line: string): void => {
    lines.push(line)
    for (const look of waiting) look()
  }
  createInterface({ input: child.stdout }).on('line', arrive)
  createInterface({ input: child.stderr }).on('line', arrive)
  // A write to a killed process fails: ignore it.
  child.stdin.on('error', () => undefined)

  // Does not wait for its output: a child process may keep the streams open.
  const ended = new Promise<void>((resolve) => {
    child.once('error', () => resolve())
    child.once('exit', () => resolve())
  })
  let exit: Exit | undefined
  const exited = new Promise<Exit>((resolve, reject) => {
    child.once('error', reject)
    child.once('close', (code, signal) => {
      exit = { code, signal }
      for (const look of waiting) look()
      resolve(exit)
    })
  })

  const { until = atEnd } = options
  until(async () => {
    child.kill('SIGKILL')
    await ended
  })

  return {
    pid: child.pid ?? -1,
    lines,
    exited,

    line(pattern) {
      return new Promise((resolve, reject) => {
        const look = (): void => {
          const found = lines.find((line) => pattern.test(line))
          if (found === undefined && exit === undefined) return
          waiting.delete(look)
          if (found !== undefined) resolve(found)
          else
            reject(
              new Error(
                `${[command, ...(options.args ?? [])].join(' ')} ended (${JSON.stringify(exit)}) ` +
                  `without ${pattern}:\n${lines.join('\n')}`,
              ),
            )
        }
        waiting.add(look)
        look()
      })
    },

    kill(signal) {
      child.kill(signal)
      return exited
    },

    endStdin() {
      child.stdin.end()
      return exited
    },
  }
}
