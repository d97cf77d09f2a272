import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { lstat, readdir, readFile, readlink, rm, stat } from 'node:fs/promises'
import { join, relative } from 'node:path'
import type { ClickHouseClient } from '@clickhouse/client'
import type { Packed } from './pack.js'

/** Hard links of the parts of all tables, as they were at one moment; and the files that make tables of them. */
export interface FrozenStore {
  readonly parts: readonly FrozenPart[]
  readonly files: readonly Packed[]
  readonly links: readonly (readonly [path: string, target: string])[]
}

export interface FrozenPart {
  /** Below the engine's data folder. */
  readonly path: string
  /** Names its content: a part's own checksums cover all of its files. */
  readonly digest: string
  readonly folder: string
}

/** Where `FREEZE` puts the links, below the engine's data folder. */
const shadowOf = (dataFolder: string, name: string): string => join(dataFolder, 'shadow', name)

/** Freezes all tables, one after the other: nothing may be written meanwhile. */
export async function freeze(store: ClickHouseClient, database: string, name: string): Promise<void> {
  const tables = await store.query({
    query: `SELECT name FROM system.tables WHERE database = {database:String} AND engine LIKE '%MergeTree'
            ORDER BY name`,
    query_params: { database },
    format: 'JSONEachRow',
  })
  for (const { name: table } of await tables.json<{ readonly name: string }>()) {
    await store.command({ query: `ALTER TABLE ${table} FREEZE WITH NAME '${name}'` })
  }
}

/** Removes the links; the tables stay as they are. */
export const unfreeze = (dataFolder: string, name: string): Promise<void> =>
  rm(shadowOf(dataFolder, name), { recursive: true, force: true })

/** Removes the links that backups have left which were killed: they keep the disk space of parts that are long gone. */
export async function unfreezeAll(dataFolder: string, prefix: string): Promise<void> {
  const names = await readdir(join(dataFolder, 'shadow')).catch(ifRemoved)
  for (const name of names ?? []) if (name.startsWith(prefix)) await unfreeze(dataFolder, name)
}

/** Reads the small files into memory, as they may change later; the parts' links stay until `unfreeze`. */
export async function readFrozen(dataFolder: string, name: string): Promise<FrozenStore> {
  const shadow = shadowOf(dataFolder, name)
  const parts: FrozenPart[] = []
  for (const table of await foldersIn(join(shadow, 'store'))) {
    for (const folder of await foldersIn(table)) {
      for (const part of await foldersIn(folder)) parts.push(partAt(part, shadow))
    }
  }
  const [files, links]: [Packed[], [string, string][]] = [[], []]
  const keep = async (path: string): Promise<void> => {
    const content = await readFile(path).catch(ifRemoved)
    if (content !== undefined) files.push({ path: relative(dataFolder, path), bytes: content.length, content })
  }
  for (const each of await readdir(join(dataFolder, 'metadata'), { withFileTypes: true })) {
    const path = join(dataFolder, 'metadata', each.name)
    if (each.isFile()) await keep(path)
    else if ((await lstat(path)).isSymbolicLink()) links.push([relative(dataFolder, path), await readlink(path)])
  }
  for (const group of await foldersIn(join(dataFolder, 'store'))) {
    for (const folder of await foldersIn(group)) {
      for (const each of await readdir(folder, { withFileTypes: true })) {
        if (each.isFile() && !each.name.startsWith('tmp_')) await keep(join(folder, each.name))
      }
    }
  }
  return { parts, files, links }
}

/** A change of rows that has ended since the folder was listed. */
const ifRemoved = (cause: unknown): undefined => {
  if ((cause as NodeJS.ErrnoException).code !== 'ENOENT') throw cause
}

function partAt(folder: string, shadow: string): FrozenPart {
  const path = relative(shadow, folder)
  const hash = createHash('sha256')
    .update(path)
    .update('\n')
    .update(readFileSync(join(folder, 'checksums.txt')))
  return { path, folder, digest: hash.digest('hex').slice(0, 40) }
}

/** The files of a part, those of its projections included. */
export async function filesOf(part: FrozenPart): Promise<Packed[]> {
  const names = await readdir(part.folder, { recursive: true, withFileTypes: true })
  const files = names.filter((each) => each.isFile()).map((each) => join(each.parentPath, each.name))
  return Promise.all(
    files.sort().map(async (file) => ({
      path: join(part.path, relative(part.folder, file)),
      bytes: (await stat(file)).size,
      content: file,
    })),
  )
}

async function foldersIn(folder: string): Promise<string[]> {
  const found = await readdir(folder, { withFileTypes: true })
  return found.filter((each) => each.isDirectory()).map((each) => join(folder, each.name))
}
