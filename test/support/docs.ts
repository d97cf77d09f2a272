/** The documents of the repository, and the blocks of code in them. */
import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

export const ROOT = fileURLToPath(new URL('../..', import.meta.url))

const inFolder = (folder: string): string[] =>
  readdirSync(`${ROOT}/${folder}`)
    .filter((name) => name.endsWith('.md'))
    .map((name) => `${folder}/${name}`)

/**
 * Documents that describe the current product; a changelog and a decision describe the day on which they were written.
 */
export const DOCUMENTS: readonly string[] = [
  'README.md',
  'CONTRIBUTING.md',
  'SECURITY.md',
  'internal/README.md',
  'internal/attribution/README.md',
  'bench/README.md',
  'bench/eval/README.md',
  ...inFolder('deploy/docs'),
  ...inFolder('deploy/docs/intake'),
]

/** The decisions, without their index. */
export const DECISIONS: readonly string[] = inFolder('deploy/decisions').filter((path) => !path.endsWith('/README.md'))

export const textOf = (path: string): string => readFileSync(`${ROOT}/${path}`, 'utf8')

export interface CodeBlock {
  /** Such as `sh`; empty for a diagram. */
  readonly language: string
  /** What follows the language, such as `needs=cluster`. */
  readonly mark: string
  readonly code: string
}

export const codeBlocks = (text: string): CodeBlock[] =>
  [...text.matchAll(/^```(\w*)([^\n]*)\n([\s\S]*?)^```$/gm)].map(([, language = '', mark = '', code = '']) => ({
    language,
    mark: mark.trim(),
    code,
  }))
