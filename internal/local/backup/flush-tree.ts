import { open, readdir } from 'node:fs/promises'
import { join } from 'node:path'

/**
 * Has the disk keep all files of a folder, and the folders themselves: what is written afterwards is not there without
 * them, also after a power cut.
 */
export async function flushTree(folder: string): Promise<void> {
  for (const entry of await readdir(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name)
    if (entry.isDirectory()) await flushTree(path)
    else if (entry.isFile()) await flush(path)
  }
  await flush(folder)
}

async function flush(path: string): Promise<void> {
  const file = await open(path, 'r')
  await file.sync().finally(() => file.close())
}
