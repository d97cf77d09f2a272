import { spawn } from 'node:child_process'

export interface Ran {
  /** Undefined: it could not be started, or was ended after its time. */
  readonly code: number | undefined
  /** Of both outputs, the last part. */
  readonly output: string
}

export interface RunOptions {
  readonly cwd: string
  readonly env?: Readonly<Record<string, string>>
  readonly minutesMax: number
}

const OUTPUT_MAX = 20_000

/** Runs a program of somebody else: with a time limit, and never throwing. */
export function run(program: string, args: readonly string[], { cwd, env, minutesMax }: RunOptions): Promise<Ran> {
  return new Promise((resolve) => {
    let output = ''
    const child = spawn(program, args, {
      cwd,
      env: { ...process.env, ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
      timeout: minutesMax * 60_000,
      killSignal: 'SIGKILL',
    })
    const add = (chunk: Buffer): void => {
      output = (output + chunk.toString('utf8')).slice(-OUTPUT_MAX)
    }
    child.stdout.on('data', add)
    child.stderr.on('data', add)
    child.on('error', (cause) => resolve({ code: undefined, output: `${output}\n${cause.message}` }))
    child.on('close', (code) => resolve({ code: code ?? undefined, output }))
  })
}
