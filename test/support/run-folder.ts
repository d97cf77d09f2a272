import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** Whatever the tests of a run and their processes put into the folder for temporary files goes when the run is over. */
export default function runFolder(): () => void {
  const folder = mkdtempSync(join(tmpdir(), 'attribution-tests-'))
  process.env['TMPDIR'] = folder
  // A process that has just been told to end may still write.
  return () => rmSync(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 })
}
