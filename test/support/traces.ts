/** Searches for texts in everything that an instance stores, logs or answers. */
import { readdirSync, readFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import type { ClickHouseClient } from '@clickhouse/client'
import type { Broker } from '../../internal/broker/connect.js'

/** By text: the same few thousand are looked for in each of thousands of messages. */
const known = new Map<string, readonly string[]>()

/** The encodings in which a text may be stored. */
function spellingsOf(text: string): readonly string[] {
  const found = known.get(text)
  if (found !== undefined) return found
  const bytes = Buffer.from(text)
  const spellings = [text, bytes.toString('hex'), bytes.toString('base64url').slice(0, -1), encodeURIComponent(text)]
  const different = [...new Set(spellings)]
  known.set(text, different)
  return different
}

/** The texts that these bytes contain. */
export const textsIn = (bytes: Buffer | string, texts: readonly string[]): string[] =>
  texts.filter((text) => spellingsOf(text).some((spelling) => bytes.includes(spelling)))

/** Searches the bytes of every file below a folder. @returns `<text> in <file>` per hit */
export function tracesInFiles(folder: string, texts: readonly string[]): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .flatMap((entry) => {
      const file = join(entry.parentPath, entry.name)
      return textsIn(readFileSync(file), texts).map((text) => `${text} in ${relative(folder, file)}`)
    })
}

/** Searches every message of every stream, which includes every bucket value. @returns `<text> in <subject>` per hit */
export async function tracesInBroker({ manager }: Broker, texts: readonly string[]): Promise<string[]> {
  const found: string[] = []
  for await (const { config, state } of manager.streams.list()) {
    for (let sequence = Math.max(1, state.first_seq); sequence <= state.last_seq; sequence++) {
      const message = await manager.streams.getMessage(config.name, { seq: sequence })
      if (message === null) continue
      const whole = Buffer.concat([Buffer.from(message.subject), Buffer.from(message.data)])
      found.push(...textsIn(whole, texts).map((text) => `${text} in ${message.subject}`))
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
  const columns = await store.query({
    query: `SELECT table, name FROM system.columns WHERE database = {database:String}
            AND match(type, 'String|Map|Array')`,
    query_params: { database },
    format: 'JSONCompactEachRow',
  })
  const found: string[] = []
  for (const [table, column] of await columns.json<[string, string]>()) {
    const values = await store.query({
      query: `SELECT DISTINCT toString(${column}) FROM ${table}`,
      format: 'JSONCompactEachRow',
    })
    const whole = (await values.json<[string]>()).map(([value]) => value).join('\n')
    found.push(...textsIn(whole, texts).map((text) => `${text} in ${table}.${column}`))
  }
  return found
}
