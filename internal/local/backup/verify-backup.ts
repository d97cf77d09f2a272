import { type Blob, blobsOf, type Manifest } from './backup-manifest.js'
import type { Repository } from './repository.js'

/** Reads a whole backup. @returns what is missing or damaged, one line each */
export async function faultsOf(manifest: Manifest, repository: Repository): Promise<readonly string[]> {
  const faults: string[] = []
  for (const blob of blobsOf(manifest)) {
    const fault = await faultOf(blob, repository)
    if (fault !== undefined) faults.push(fault)
  }
  return faults
}

async function faultOf(blob: Blob, repository: Repository): Promise<string | undefined> {
  if (!(await repository.has(blob))) return `${blob.key} is missing or has another size`
  try {
    for await (const _ of repository.read(blob));
    return undefined
  } catch (cause) {
    return (cause as Error).message
  }
}
