import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { asError } from './incident.js'
import { openSpool, type Spool, type SpoolSettings } from './spool.js'

export interface Adopted {
  /** This process owns them now: drain each, then close it, which removes its folder. */
  readonly spools: readonly Spool[]
  /** Folders that nobody living owns and that could not be opened; they are tried again at the next call. */
  readonly failures: readonly { readonly folder: string; readonly error: Error }[]
}

/**
 * Takes over the spools of dead processes: a restarted gateway uses a new folder, and the events that its predecessor
 * accepted must still reach the log. Folders of living processes, this one included, are left alone; if several
 * gateways call at once, each orphan goes to at most one.
 *
 * @param parent the folder that holds one folder per spool, and nothing else
 */
export async function adoptOrphans(parent: string, settings: Omit<SpoolSettings, 'folder'>): Promise<Adopted> {
  const spools: Spool[] = []
  const failures: { folder: string; error: Error }[] = []
  for (const folder of await foldersIn(parent)) {
    const opened = await openSpool({ ...settings, folder })
    if (opened.kind === 'opened') spools.push(opened.spool)
    else if (opened.kind === 'failed') failures.push({ folder, error: asError(opened.error) })
  }
  return { spools, failures }
}

async function foldersIn(parent: string): Promise<string[]> {
  try {
    const entries = await readdir(parent, { withFileTypes: true })
    return entries.filter((entry) => entry.isDirectory()).map(({ name }) => join(parent, name))
  } catch (cause) {
    if (cause instanceof Error && 'code' in cause && cause.code === 'ENOENT') return []
    throw cause
  }
}
