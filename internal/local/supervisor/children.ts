import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, copyFileSync, openSync, readFileSync, statSync, truncateSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { START_AGAIN } from '../../process/exit-codes.js'
import { noticeIn } from '../../process/notice.js'

/** A process that the supervisor keeps running. */
export interface Role {
  readonly name: string
  readonly command: string
  readonly args: readonly string[]
  readonly env: Readonly<Record<string, string>>
  /** Runs before each start, for example to end what a killed predecessor left behind. */
  readonly prepare?: () => Promise<void>
  /** Resolves when the role is ready; rejects, or never resolves, otherwise. Called after the first start. */
  readonly ready: (signal: AbortSignal) => Promise<void>
}

export interface SupervisorDeps {
  readonly logsDir: string
  /** Prints a line on the terminal in which the supervisor was started. */
  readonly print: (line: string) => void
  /** Called whenever the set of process ids has changed. */
  readonly onChange: (pids: ReadonlyMap<string, number>) => void
}

const BACKOFF_MS_FIRST = 200
const BACKOFF_MS_MAX = 5_000
/** After a run of this length the next restart waits the shortest time again. */
const STABLE_MS = 30_000
const READY_MS_MAX = 60_000
/** How long a process may drain before it is killed. It ends itself earlier. */
const STOP_MS_MAX = 15_000
const LOG_BYTES_MAX = 64 * 1024 * 1024

/**
 * Starts roles and keeps them running: a process that exits is restarted after a pause that grows from 0.2 s to 5 s.
 * Each gets a pipe as stdin and stops when the pipe closes, so that none outlives its supervisor. Logs go to
 * `<logsDir>/<role>.log`, which is rotated at 64 MiB (one old file is kept, as `.1`).
 */
export class Supervisor {
  /** Each of the roles that were started together, in the order of their start. */
  private readonly groups: Child[][] = []
  private readonly deps: SupervisorDeps
  private readonly rotating: NodeJS.Timeout
  private isStopping = false

  constructor(deps: SupervisorDeps) {
    this.deps = deps
    this.rotating = setInterval(() => {
      for (const { logFile } of this.groups.flat()) rotateLog(logFile)
    }, 30_000)
    this.rotating.unref()
  }

  /**
   * Starts roles at once and waits until all of them are ready.
   *
   * @throws Error with one line when one does not become ready, or when the supervisor stops
   */
  async startAll(roles: readonly Role[]): Promise<void> {
    if (this.isStopping) throw new Error('the service stops')
    const { logsDir, print } = this.deps
    const group = roles.map((role) => new Child(role, join(logsDir, `${role.name}.log`), print, () => this.report()))
    this.groups.push(group)
    await Promise.all(group.map((child) => child.start()))
  }

  /** Has a role end, and start again as after any end. */
  restart(name: string): void {
    for (const child of this.groups.flat()) if (child.role.name === name) child.restart()
  }

  /** Stops all roles, those that were started last first. */
  async stop(): Promise<void> {
    this.isStopping = true
    clearInterval(this.rotating)
    for (const group of this.groups.toReversed()) await Promise.all(group.map((child) => child.stop()))
    this.groups.length = 0
    this.report()
  }

  private report(): void {
    const pids = new Map<string, number>()
    for (const { role, pid } of this.groups.flat()) if (pid !== undefined) pids.set(role.name, pid)
    this.deps.onChange(pids)
  }
}

class Child {
  readonly role: Role
  readonly logFile: string
  private readonly print: (line: string) => void
  private readonly report: () => void
  private process: ChildProcess | undefined
  private ended: Promise<unknown> = Promise.resolve()
  private isStopping = false
  private backoffMs = BACKOFF_MS_FIRST

  constructor(role: Role, logFile: string, print: (line: string) => void, report: () => void) {
    this.role = role
    this.logFile = logFile
    this.print = print
    this.report = report
  }

  get pid(): number | undefined {
    return this.process?.pid
  }

  async start(): Promise<void> {
    await this.role.prepare?.()
    // Another role may have failed in the meantime.
    if (this.isStopping) return
    this.run()
    const giveUp = new AbortController()
    const timer = setTimeout(() => giveUp.abort(), READY_MS_MAX)
    const failed = this.untilEnded(giveUp.signal).then(() => 'ended' as const)
    const ready = this.role.ready(giveUp.signal).then(
      () => 'ready' as const,
      (cause: Error) => {
        throw new Error(`${cause.message}; ${this.lastWords()}`, { cause })
      },
    )
    try {
      const outcome = await Promise.race([ready, failed])
      if (outcome === 'ended' && !this.isStopping) throw new Error(this.lastWords())
      void this.keepRunning()
    } finally {
      clearTimeout(timer)
      giveUp.abort()
    }
  }

  /** Of a first start: one that asks for it is started again. */
  private async untilEnded(isOver: AbortSignal): Promise<void> {
    for (;;) {
      await this.ended
      if (isOver.aborted || this.isStopping || this.process?.exitCode !== START_AGAIN) return
      this.run()
    }
  }

  /** It ends when its stdin does; `keepRunning` starts it again. */
  restart(): void {
    this.process?.stdin?.end()
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
      // A role of ours has a channel for what the terminal should show, and no other program expects one.
      stdio: ['pipe', log, log, ...(this.role.command === process.execPath ? ['ipc' as const] : [])],
    })
    closeSync(log)
    // Writing to a child that has just died is not an error of the supervisor.
    child.stdin?.on('error', () => undefined)
    child.on('message', (message) => {
      const notice = noticeIn(message)
      if (notice !== undefined) this.print(notice)
    })
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
      if (performance.now() - startedAt > STABLE_MS) this.backoffMs = BACKOFF_MS_FIRST
      this.print(
        `${this.role.name} exited (${signalCode ?? `exit code ${exitCode ?? 'unknown'}`}); restarting in ` +
          `${this.backoffMs / 1000} s`,
      )
      await sleep(this.backoffMs)
      this.backoffMs = Math.min(this.backoffMs * 2, BACKOFF_MS_MAX)
      await this.role.prepare?.()
      if (this.isStopping) return
      this.run()
    }
  }

  /** The last line of its log, which tells why it did not start. */
  private lastWords(): string {
    const lines = readFileSync(this.logFile, 'utf8').trimEnd().split('\n')
    return lines.at(-1) || `${this.role.name} exited at once; see ${this.logFile}`
  }
}

function rotateLog(file: string): void {
  try {
    if (statSync(file).size <= LOG_BYTES_MAX) return
    copyFileSync(file, `${file}.1`)
    // The writer appends, so it continues at the new end.
    truncateSync(file)
  } catch {
    // A log that cannot be rotated (removed by hand, disk full) must not stop the service; the next round retries.
  }
}
