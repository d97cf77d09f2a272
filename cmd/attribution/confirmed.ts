import { createInterface } from 'node:readline/promises'
import type { Readable, Writable } from 'node:stream'
import { ConfigError } from '../../internal/config/settings.js'

export interface ConfirmOption {
  readonly yes?: true
}

interface Terminal {
  readonly stdin: Readable & { readonly isTTY?: boolean }
  readonly stderr: Writable
}

/**
 * Asks the person at the terminal, who has read what was printed before.
 *
 * @returns whether the answer is yes; any other answer, and the end of the input, is a no
 * @throws ConfigError when nobody can be asked, and `--yes` is not given
 */
export async function isConfirmed(
  question: string,
  { yes }: ConfirmOption,
  { stdin, stderr }: Terminal = process,
): Promise<boolean> {
  if (yes === true) return true
  if (stdin.isTTY !== true) throw new ConfigError('there is no terminal to ask for a yes: add --yes')
  const lines = createInterface({ input: stdin, output: stderr })
  const ended = new Promise<string>((resolve) => lines.once('close', () => resolve('')))
  const answer = await Promise.race([lines.question(`${question} [y/N] `), ended])
  lines.close()
  return /^\s*y(?:es)?\s*$/i.test(answer)
}
