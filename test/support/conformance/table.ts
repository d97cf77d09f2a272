/** `deploy/docs/conformance.md`: which programs accept the product, as their tests have found it. */
import { fileURLToPath } from 'node:url'
import type { Row } from './program.js'

export const TABLE = fileURLToPath(new URL('../../../deploy/docs/conformance.md', import.meta.url))

const HEADING = '| Part | Program | Version | Tried | Passed | Failed | Why |\n|---|---|---|---|---|---|---|'

/** The cells of each row of the text. */
export const rowsOf = (text: string): readonly (readonly string[])[] =>
  text
    .split('\n')
    .filter((line) => line.startsWith('|'))
    .slice(2)
    .map((line) =>
      line
        .slice(1, -1)
        .split(/(?<!\\)\|/)
        .map((cell) => cell.trim()),
    )

/** @param part the name of a folder below `test/conformance/` */
export const cellsOf = (part: string, { name, version, tries, passed, failed, why }: Row): readonly string[] =>
  [part, name, version, tries, String(passed), String(failed), why].map((text) =>
    text.replaceAll('|', '\\|').replaceAll('\n', ' '),
  )

/** The text with rows replaced and added, in the order of parts and programs. */
export function withRows(text: string, rows: readonly (readonly string[])[]): string {
  const before = text.slice(0, text.indexOf('\n|') + 1)
  const byProgram = new Map([...rowsOf(text), ...rows].map((cells) => [cells.slice(0, 2).join(' | '), cells]))
  const sorted = [...byProgram.keys()].sort().map((key) => `| ${byProgram.get(key)?.join(' | ')} |`)
  return `${[before + HEADING, ...sorted].join('\n')}\n`
}
