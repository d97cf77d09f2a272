import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, copyFileSync, openSync, readFileSync, statSync, truncateSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

/** A process that is kept running. */
export interface Role {
  readonly name: string
  readonly command: string
  readonly args: readonly string[]
  readonly env: Readonly<Record<string, string>>
  /** Clears the way for a start, for example of what a killed predecessor left behind. */
  readonly prepare?: () => Promise<void>
  /** Resolves when it can be used; rejects or never resolves otherwise. Called after each start. */
  readonly ready: (signal: AbortSignal) => Promise<void>
}

export interface SupervisorDeps {
  readonly logsDir: string
  /** A line for the person who started us. */
  readonly say: (line: string) => void
  /** Called whenever the set of process ids has changed. */
  readonly onChange: (pids: ReadonlyMap<string, number>) => void
}

const BACKOFF_MS_FIRST = 200
const BACKOFF_MS_MAX = 5_000
/** A process that ran so long was well: the next restart waits the shortest time again. */
const WELL_MS = 30_000
const READY_MS_MAX = 60_000
/** How long a process may take to drain before it is killed. It ends itself before that. */
const STOP_MS_MAX = 15_000
const LOG_BYTES_MAX = 64 * 1024 * 1024

/**
 * Starts roles in order and keeps them running: a process that ends by itself is started again after a pause that
 * grows from 0.2 s to 5 s. Each gets a pipe as stdin and stops when it ends, so that none outlives its supervisor.
 * Logs go to `<logsDir>/<role>.log`, which is cut when it grows over 64 MiB (the last full one is kept as `.1`).
 */
export class Supervisor {
  private readonly children: Child[] = []
  private readonly deps: SupervisorDeps
  private readonly trimming: NodeJS.Timeout

  constructor(deps: SupervisorDeps) {
    this.deps = deps
    this.trimming = setInterval(() => {
      for (const { logFile } of this.children) trimLog(logFile)
    }, 30_000)
    this.trimming.unref()
  }

  /** Starts a role and waits until it is ready. @throws Error with one line when it does not become ready */
  async start(role: Role): Promise<void> {
    const child = new Child(role, join(this.deps.logsDir, `${role.name}.log`), this.deps.say, () => this.report())
    this.children.push(child)
    await child.start()
  }

  /** Stops all roles, the last started first, each only when the one before has ended. */
  async stop(): Promise<void> {
    clearInterval(this.trimming)
    for (const child of this.children.toReversed()) await child.stop()
    this.children.length = 0
    this.report()
  }

  private report(): void {
    const pids = new Map<string, number>()
    for (const { role, pid } of this.children) if (pid !== undefined) pids.set(role.name, pid)
    this.deps.onChange(pids)
  }
}

class Child {
  readonly role: Role
  readonly logFile: string
  private readonly say: (line: string) => void
  private readonly report: () => void
  private process: ChildProcess | undefined
  private ended: Promise<unknown> = Promise.resolve()
  private isStopping = false
  private backoffMs = BACKOFF_MS_FIRST

  constructor(role: Role, logFile: string, say: (line: string) => void, report: () => void) {
    this.role = role
    this.logFile = logFile
    this.say = say
    this.report = report
  }

  get pid(): number | undefined {
    return this.process?.pid
  }

  async start(): Promise<void> {
    await this.role.prepare?.()
    // Another role may have failed meanwhile.
    if (this.isStopping) return
    this.run()
    const first = this.process
    const giveUp = new AbortController()
    const timer = setTimeout(() => giveUp.abort(), READY_MS_MAX)
    const failed = this.ended.then(() => 'ended' as const)
    const ready = this.role.ready(giveUp.signal).then(
      () => 'ready' as const,
      (cause: Error) => {
        throw new Error(`${cause.message}; ${this.lastWords()}`, { cause })
      },
    )
    try {
      const outcome = await Promise.race([ready, failed])
      if (outcome === 'ended' && this.process === first) throw new Error(this.lastWords())
      void this.keepRunning()
    } finally {
      clearTimeout(timer)
      giveUp.abort()
    }
  }

  async stop(): Promise<void> {
    this.isStopping = true
    const child = this.process
    if (child === undefined) return
    child.stdin?.end()
    const timer = setTimeout(() => child.kill('SIGKILL'), STOP_MS_MAX)
    await this.ended
    clearTimeout(timer)
    this.process = undefined
  }

  private run(): void {
    const log = openSync(this.logFile, 'a', 0o600)
    const child = spawn(this.role.command, this.role.args, {
      env: this.role.env,
      // A process group of its own: Ctrl-C in a terminal reaches the supervisor alone, which stops all in order.
      detached: true,
      stdio: ['pipe', log, log],
    })
    closeSync(log)
    // Writing to a child that has just died is no error of ours.
    child.stdin?.on('error', () => undefined)
    this.process = child
    this.ended = Promise.race([once(child, 'exit'), once(child, 'error')]).catch(() => undefined)
    this.report()
  }

  private async keepRunning(): Promise<void> {
    for (;;) {
      const startedAt = performance.now()
      await this.ended
      if (this.isStopping) return
      const { exitCode, signalCode } = this.process ?? {}
      if (performance.now() - startedAt > WELL_MS) this.backoffMs = BACKOFF_MS_FIRST
      this.say(
        `${this.role.name} ended (${signalCode ?? `exit code ${exitCode ?? 'unknown'}`}); starting it again in ${this.backoffMs / 1000} s`,
      )
      await sleep(this.backoffMs)
      this.backoffMs = Math.min(this.backoffMs * 2, BACKOFF_MS_MAX)
      await this.role.prepare?.()
      if (this.isStopping) return
      this.run()
    }
  }

  /** What it said last, for the person who wants to know why it did not start. */
  private lastWords(): string {
    const lines = readFileSync(this.logFile, 'utf8').trimEnd().split('\n')
    return lines.at(-1) || `${this.role.name} ended at once; see ${this.logFile}`
  }
}

function trimLog(file: string): void {
  try {
    if (statSync(file).size <= LOG_BYTES_MAX) return
    copyFileSync(file, `${file}.1`)
    // The writer appends, so that it goes on at the new end.
    truncateSync(file)
  } catch {
    // A log that cannot be trimmed (removed by hand, disk full) must not stop the service; the next round tries again.
  }
}
