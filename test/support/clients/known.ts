import { readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import type { Compared, Difference } from './ledger.js'

/** What is known of a client: where its records differ from what was billed, and what a user can do about it. */
export interface Known {
  /** What to set, in the words of the client's own documentation. */
  readonly configure?: string
  readonly gaps: readonly Gap[]
}

export interface Gap {
  readonly what: Difference | 'not billed'
  /** Numbers of the bills. Of records for which nothing was billed: how many they are. */
  readonly calls: readonly number[]
  /** What the client does not send, or what we do not read. */
  readonly why: string
}

const FILE = fileURLToPath(new URL('../../fixtures/clients-known.data.json', import.meta.url))

const known = (): Readonly<Record<string, Known>> => JSON.parse(readFileSync(FILE, 'utf8'))

export const knownOf = (name: string): Known => known()[name] ?? { gaps: [] }

/** The gaps of a comparison, each with the reason that is known for it. */
export function gapsOf(name: string, compared: readonly Compared[], unbilled: number): readonly Gap[] {
  const calls = new Map<Gap['what'], number[]>()
  for (const { bill, differences } of compared)
    for (const what of differences) calls.set(what, [...(calls.get(what) ?? []), bill.n])
  if (unbilled > 0) calls.set('not billed', [unbilled])
  const reasons = knownOf(name).gaps
  return [...calls].map(([what, numbers]) => ({
    what,
    calls: numbers,
    why: reasons.find((gap) => gap.what === what)?.why ?? '',
  }))
}

/** Keeps the reasons, and leaves out those of gaps that have closed. */
export function writeGaps(found: ReadonlyMap<string, readonly Gap[]>): void {
  const before = known()
  const names = [...new Set([...Object.keys(before), ...found.keys()])].sort()
  const after = names.map((name) => [name, { ...before[name], gaps: found.get(name) ?? before[name]?.gaps ?? [] }])
  writeFileSync(FILE, `{\n${after.map(([name, each]) => textOf(name as string, each as Known)).join(',\n')}\n}\n`)
}

/** A line for each gap. */
function textOf(name: string, { configure, gaps }: Known): string {
  const said = configure === undefined ? '' : `    "configure": ${JSON.stringify(configure)},\n`
  const lines = gaps.map((gap) => `      ${JSON.stringify(gap)}`)
  const list = lines.length === 0 ? '[]' : `[\n${lines.join(',\n')}\n    ]`
  return `  ${JSON.stringify(name)}: {\n${said}    "gaps": ${list}\n  }`
}
