import { builtin } from './context.js'

/** Reads the request from its input, since arguments are seen by others. */
const SCRIPT = `
const { url, headers, body } = JSON.parse(require('node:fs').readFileSync(0, 'utf8'))
fetch(url, { method: 'POST', headers, body }).then((answer) => process.exit(answer.status === 202 ? 0 : 1), () => process.exit(1))
`

/**
 * Sends from a child process and waits for it: within `exit`, Node runs nothing asynchronous. Does nothing where there
 * are no child processes, or the program is not Node's: an application that is its own executable would start again.
 *
 * @returns whether all were sent
 */
export function sendFromChild(
  { url, headers }: { readonly url: string; readonly headers: Readonly<Record<string, string>> },
  lines: readonly string[],
  msMax: number,
): boolean {
  const { process: node } = globalThis as { process?: NodeJS.Process }
  const spawnSync = builtin('node:child_process')?.['spawnSync'] as SpawnSync | undefined
  if (lines.length === 0 || node === undefined || !NODE.test(node.execPath)) return false
  try {
    const { NODE_OPTIONS: _, ...env } = node.env
    const input = JSON.stringify({ url, headers, body: lines.join('\n') })
    const { status } = spawnSync?.(node.execPath, ['-e', SCRIPT], { env, input, timeout: msMax, stdio: STDIO }) ?? {}
    return status === 0
  } catch {
    return false
  }
}

/** Some distributions add the version to its name. */
const NODE = /(?:^|[\\/])node(?:js)?[-.\d]*(?:\.exe)?$/
const STDIO = ['pipe', 'ignore', 'ignore'] as const
type SpawnSync = (file: string, args: readonly string[], options: object) => { readonly status?: number | null }
