import { readdirSync, readFileSync } from 'node:fs'
import type { PlainValue } from '../otlp.js'

/**
 * What an unmodified client put on the wire, and what the provider billed meanwhile. Made by the client itself in front
 * of a provider that keeps a ledger; prompts, answers and paths are taken out, names and numbers are as they came.
 */
export interface Recording {
  readonly client: string
  readonly version: string
  /** The package that is installed from the registry. */
  readonly package: string
  readonly registry: 'npm' | 'PyPI'
  /** A date. */
  readonly recorded: string
  readonly bills: readonly Bill[]
  /** Spans and log records. */
  readonly records: readonly WireRecord[]
  /** Bodies of a JSON intake. */
  readonly payloads?: readonly WirePayload[]
}

/** What the provider billed for one call. Input includes what was read from or written to its cache. */
export interface Bill {
  readonly n: number
  readonly api: string
  readonly provider: string
  readonly model: string
  /** Absent: the requested model. */
  readonly served?: string
  readonly input: number
  readonly output: number
  readonly cacheRead?: number
  /** Of both lifetimes. */
  readonly cacheWrite?: number
  readonly cacheWrite1h?: number
  readonly reasoning?: number
  readonly audioInput?: number
  readonly audioOutput?: number
  readonly imageOutput?: number
  readonly webSearches?: number
  readonly tier?: 'flex' | 'priority' | 'batch'
  readonly speed?: 'fast'
  readonly stream?: boolean
  /** Units that are no tokens. */
  readonly units?: Readonly<Record<string, number>>
  /** What the sender charges, where it states its own cost; else the price book says. */
  readonly usd?: number
  /** A gateway answered from its own cache: nothing was bought. */
  readonly fromCache?: boolean
  /** The caller left before the end: nobody knows what was billed. */
  readonly hungUp?: boolean
}

export interface WireRecord {
  /** Records of one request have the same number. */
  readonly request: number
  readonly signal: 'traces' | 'logs'
  /** Name, or name@version. */
  readonly scope: string
  readonly resource: Readonly<Record<string, PlainValue>>
  readonly trace?: string
  readonly span?: string
  readonly parent?: string
  readonly name?: string
  /** Of a log record. */
  readonly event?: string
  readonly body?: string
  readonly at: number
  readonly ms: number
  readonly error?: boolean
  /** Number of the bill for the call that it shows. */
  readonly bill?: number
  readonly attributes: Readonly<Record<string, PlainValue>>
}

export interface WirePayload {
  readonly intake: string
  readonly tag: string
  readonly bill?: number
  readonly payload: Readonly<Record<string, unknown>>
}

const FOLDER = new URL('../../fixtures/clients/', import.meta.url)
const ENDING = '.data.json'

/** Every recording by the name of its file. */
export function recordings(): ReadonlyMap<string, Recording> {
  const files = readdirSync(FOLDER).filter((file) => file.endsWith(ENDING))
  return new Map(files.sort().map((file) => [file.slice(0, -ENDING.length), read(file)]))
}

const read = (file: string): Recording => JSON.parse(readFileSync(new URL(file, FOLDER), 'utf8')) as Recording
