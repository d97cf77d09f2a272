/** The table of `deploy/docs/access.md` that is generated: changes that need a recent sign-in. */
import { readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import type { Described } from './described.js'

const PAGE = fileURLToPath(new URL('../../../deploy/docs/access.md', import.meta.url))
const PLACE = /(<!-- step-up: generated -->\n)[\s\S]*(<!-- \/step-up -->)/

export function stepUpTable({ raw }: Described): string {
  const paths = raw['paths'] as unknown as Readonly<Record<string, Readonly<Record<string, { summary?: string }>>>>
  const rows = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods)
      .filter(
        ([, operation]) => path !== '/docs/errors/{code}' && JSON.stringify(operation).includes('STEP_UP_REQUIRED'),
      )
      .map(([method, { summary = '' }]) => `| \`${method.toUpperCase()} ${path}\` | ${summary} |`),
  )
  return ['| change | effect |', '| --- | --- |', ...rows].join('\n')
}

/** Whether the page shows the table. The formatter pads its cells. */
export function showsStepUpTable(described: Described): boolean {
  const page = readFileSync(PAGE, 'utf8')
  return unpadded(page) === unpadded(withTable(page, described))
}

/** @returns the page */
export function writeStepUpTable(described: Described): string {
  writeFileSync(PAGE, withTable(readFileSync(PAGE, 'utf8'), described))
  return PAGE
}

const withTable = (page: string, described: Described): string =>
  page.replace(PLACE, `$1\n${stepUpTable(described)}\n\n$2`)

const unpadded = (text: string): string => text.replace(/ +/g, ' ').replace(/-{3,}/g, '---')
