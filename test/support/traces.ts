/** Searches for texts in everything that an instance stores, logs or answers. */
import { readdirSync, readFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import type { ClickHouseClient } from '@clickhouse/client'
import type { Broker } from '../../internal/broker/connect.js'

interface Spelling {
  readonly text: string
  readonly bytes: Buffer
}

/** The encodings in which a text may be stored. */
function spellingsOf(text: string): readonly Spelling[] {
  const bytes = Buffer.from(text)
  const spellings = [text, bytes.toString('hex'), bytes.toString('base64url').slice(0, -1), encodeURIComponent(text)]
  return [...new Set(spellings)].map((spelling) => ({ text, bytes: Buffer.from(spelling) }))
}

/** Finds in one pass which of the texts some bytes contain: to look for each by itself took a minute. */
function finderOf(texts: readonly string[]): (bytes: Buffer) => string[] {
  const byEnding = new Map<number, Spelling[]>()
  const mayBe = new Uint8Array(1 << 20)
  for (const spelling of texts.flatMap(spellingsOf)) {
    const ending = spelling.bytes.readInt32BE(spelling.bytes.length - 4)
    byEnding.set(ending, [...(byEnding.get(ending) ?? []), spelling])
    mayBe[placeOf(ending)] = 1
  }
  return (bytes) => {
    const found = new Set<string>()
    let ending = 0
    for (let end = 1; end <= bytes.length; end++) {
      ending = (ending << 8) | (bytes[end - 1] as number)
      if (mayBe[placeOf(ending)] === 0) continue
      for (const { text, bytes: spelling } of byEnding.get(ending) ?? []) {
        const start = end - spelling.length
        if (start >= 0 && bytes.subarray(start, end).equals(spelling)) found.add(text)
      }
    }
    return [...found]
  }
}

/** Of the last four bytes of a spelling, of which most are of its own: the texts end at random. */
const placeOf = (ending: number): number => Math.imul(ending, 0x9e3779b1) >>> 12

export const textsIn = (text: string, texts: readonly string[]): string[] => finderOf(texts)(Buffer.from(text))

/** Searches the bytes of every file below a folder. @returns `<text> in <file>` per hit */
export function tracesInFiles(folder: string, texts: readonly string[]): string[] {
  const textsOf = finderOf(texts)
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .flatMap((entry) => {
      const file = join(entry.parentPath, entry.name)
      return textsOf(readFileSync(file)).map((text) => `${text} in ${relative(folder, file)}`)
    })
}

/** Searches every message of every stream, which includes every bucket value. @returns `<text> in <subject>` per hit */
export async function tracesInBroker({ manager }: Broker, texts: readonly string[]): Promise<string[]> {
  const textsOf = finderOf(texts)
  const found: string[] = []
  for await (const { config, state } of manager.streams.list()) {
    for (let sequence = Math.max(1, state.first_seq); sequence <= state.last_seq; sequence++) {
      const message = await manager.streams.getMessage(config.name, { seq: sequence })
      if (message === null) continue
      const whole = Buffer.concat([Buffer.from(message.subject), Buffer.from(message.data)])
      found.push(...textsOf(whole).map((text) => `${text} in ${message.subject}`))
    }
  }
  return found
}

/** Searches every text column of every table. @returns `<text> in <table>.<column>` per hit */
export async function tracesInStore(
  store: ClickHouseClient,
  database: string,
  texts: readonly string[],
): Promise<string[]> {
  const tables = await store.query({
    query: `SELECT table, groupArray(name) FROM system.columns WHERE database = {database:String}
            AND match(type, 'String|Map|Array') GROUP BY table`,
    query_params: { database },
    format: 'JSONCompactEachRow',
  })
  const textsOf = finderOf(texts)
  const found: string[] = []
  for (const [table, columns] of await tables.json<[string, string[]]>()) {
    // A query per table: one for each of a thousand columns took the store three seconds of processor time.
    const values = await store.query({
      query: `SELECT DISTINCT ${columns.map((column) => `toString(${column})`).join()} FROM ${table}`,
      format: 'JSONCompactEachRow',
    })
    const rows = await values.json<string[]>()
    for (const [at, column] of columns.entries()) {
      const whole = rows.map((row) => row[at]).join('\n')
      found.push(...textsOf(Buffer.from(whole)).map((text) => `${text} in ${table}.${column}`))
    }
  }
  return found
}
