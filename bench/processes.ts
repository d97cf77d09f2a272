import { type ChildProcess, spawn } from 'node:child_process'
import { closeSync, openSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Role } from '../internal/local/supervisor/children.js'

const READY_MS_MAX = 60_000
const STOP_MS_MAX = 15_000

/**
 * The processes of one bench. Unlike the supervisor it starts nothing again: a server that ends under load makes the
 * figures worthless, so that the bench fails with its last words. Servers get a pipe as stdin and end with it, so
 * that none outlives the bench even when that is killed.
 */
export class Processes {
  /** Rejects when a server ends unasked; never resolves. */
  readonly failure: Promise<never>
  private readonly running: { readonly name: string; readonly child: ChildProcess; readonly ended: Promise<void> }[] =
    []
  private readonly logsDir: string
  private isStopping = false
  private fail: (cause: Error) => void = () => undefined

  constructor(logsDir: string) {
    this.logsDir = logsDir
    this.failure = new Promise((_, reject) => {
      this.fail = reject
    })
    // Who waits for it hears of it; nobody may wait yet when it happens.
    this.failure.catch(() => undefined)
  }

  /** Starts a server and waits until it can be used. @returns its process id */
  async start({ name, command, args, env, prepare, ready }: Role): Promise<number> {
    await prepare?.()
    const log = openSync(this.logOf(name), 'a', 0o600)
    // A process group of its own: Ctrl-C in a terminal reaches the bench alone, which stops all in order.
    const child = spawn(command, args, { env, detached: true, stdio: ['pipe', log, log] })
    closeSync(log)
    child.stdin?.on('error', () => undefined)
    const ended = new Promise<void>((resolve) => {
      child.once('error', () => resolve())
      child.once('exit', () => resolve())
    }).then(() => {
      if (!this.isStopping) this.fail(new Error(`${name} ended unasked: ${this.lastWords(name)}`))
    })
    this.running.push({ name, child, ended })
    await Promise.race([ready(AbortSignal.timeout(READY_MS_MAX)), this.failure])
    return child.pid ?? -1
  }

  /** Runs a program to its end. @returns its stdout @throws Error when its exit code is not 0 */
  async run(
    name: string,
    command: string,
    args: readonly string[],
    env: Readonly<NodeJS.ProcessEnv> = process.env,
  ): Promise<string> {
    const child = spawn(command, args, { env, stdio: ['ignore', 'pipe', 'pipe'] })
    const texts = { stdout: '', stderr: '' }
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      texts.stdout += text
    })
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      texts.stderr += text
    })
    let report: (cause: Error | number | null) => void = () => undefined
    const outcome = new Promise<Error | number | null>((resolve) => {
      report = resolve
    })
    child.once('error', report)
    child.once('close', report)
    const entry = { name, child, ended: outcome.then(() => undefined) }
    this.running.push(entry)
    const code = await outcome
    this.running.splice(this.running.indexOf(entry), 1)
    if (code !== 0) throw new Error(`${name} failed (${code}): ${texts.stderr.trim() || texts.stdout.trim()}`)
    return texts.stdout
  }

  /** Stops what still runs, the last started first. */
  async stop(): Promise<void> {
    this.isStopping = true
    for (const { child, ended } of this.running.toReversed()) {
      if (child.stdin === null) child.kill('SIGKILL')
      child.stdin?.end()
      const timer = setTimeout(() => child.kill('SIGKILL'), STOP_MS_MAX)
      await ended
      clearTimeout(timer)
    }
    this.running.length = 0
  }

  /** All that a server has written. */
  logText(name: string): string {
    return readFileSync(this.logOf(name), 'utf8')
  }

  private readonly logOf = (name: string): string => join(this.logsDir, `${name}.log`)

  private readonly lastWords = (name: string): string => this.logText(name).trimEnd().split('\n').at(-1) ?? ''
}
