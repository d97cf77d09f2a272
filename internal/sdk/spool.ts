import type * as FileSystem from 'node:fs'
import { builtin } from './context.js'
import { quietly } from './event.js'

/** Calls of an earlier file. */
export interface Taken {
  readonly lines: readonly string[]
  /** Deletes the file. */
  readonly done: () => void
}

const BYTES_MAX = 64_000_000
/** A process that took a file has ended without deleting it. */
const TAKEN_MS_MAX = 3_600_000

/**
 * Calls that cannot be sent now, in files of a folder that processes share. A file that two of them send is harmless:
 * its events keep their ids.
 */
export class Spool {
  private readonly folder: string
  private readonly fs: typeof FileSystem

  /** @throws where there are no files */
  constructor(folder: string) {
    this.folder = folder
    this.fs = builtin('node:fs') as unknown as typeof FileSystem
    this.fs.mkdirSync(folder, { recursive: true, mode: 0o700 })
  }

  /** @returns whether they are kept */
  write(lines: readonly string[]): boolean {
    const text = lines.join('\n')
    const file = `${this.folder}/${Date.now()}-${crypto.randomUUID()}`
    const part = `${file}.part`
    const isKept = quietly(() => {
      const used = this.files().reduce((sum, each) => sum + this.fs.statSync(each).size, 0)
      if (used + text.length > BYTES_MAX) return false
      this.fs.writeFileSync(part, text, { mode: 0o600 })
      this.fs.renameSync(part, `${file}.ndjson`)
      return true
    })
    if (isKept !== true) quietly(() => this.fs.rmSync(part, { force: true }))
    return isKept === true
  }

  /** The oldest file that no other process has. */
  take(): Taken | undefined {
    for (const file of this.files()) {
      const taken = quietly(() => {
        if (file.endsWith('.taken') && Date.now() - this.fs.statSync(file).mtimeMs < TAKEN_MS_MAX) return undefined
        const own = `${file.replace(/\.taken$/, '')}.taken`
        this.fs.renameSync(file, own)
        this.fs.utimesSync(own, new Date(), new Date())
        return { lines: this.fs.readFileSync(own, 'utf8').split('\n'), done: () => this.fs.rmSync(own) }
      })
      if (taken !== undefined) return taken
    }
    return undefined
  }

  /** Oldest first: their names begin with the time. */
  private files(): readonly string[] {
    const names = this.fs.readdirSync(this.folder).filter((name) => /\.(?:ndjson|taken)$/.test(name))
    return names.sort().map((name) => `${this.folder}/${name}`)
  }
}
