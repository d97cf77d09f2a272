/** The tables of `deploy/docs/access.md` that are generated from the API description. */
import { readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { DEFAULT_SETTINGS } from '../../../internal/auth/tenant.js'
import type { Described, Schema } from './described.js'

const PAGE = fileURLToPath(new URL('../../../deploy/docs/access.md', import.meta.url))

/** By the name between their marks, `<!-- <name>: generated -->` and `<!-- /<name> -->`. */
const TABLES: Readonly<Record<string, (described: Described) => string>> = {
  settings: (described) => membersTable(described, 'updateSettings', DEFAULT_SETTINGS),
  clients: (described) => membersTable(described, 'createClient'),
  'step-up': stepUpTable,
}

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

/** The members of the body of an operation. */
export function membersTable({ operations, schemas }: Described, id: string, defaults?: object): string {
  const body = operations.find((operation) => operation.id === id)?.body?.contents.get('application/json') ?? {}
  const { properties } = schemas[String(body['$ref']).replace('#/components/schemas/', '')] ?? {}
  const rows = Object.entries((properties ?? {}) as Readonly<Record<string, Schema>>).map(([name, schema]) => {
    const usual = (defaults as Readonly<Record<string, unknown>> | undefined)?.[name]
    const isPlain = usual !== undefined && usual !== null && (!Array.isArray(usual) || usual.length > 0)
    const shown = defaults === undefined ? [] : [isPlain ? `\`${usual}\`` : '']
    return `| ${[`\`${name}\``, ...shown, String(schema['description'] ?? '').replaceAll('|', '\\|')].join(' | ')} |`
  })
  const head =
    defaults === undefined
      ? '| member | meaning |\n| --- | --- |'
      : '| setting | default | meaning |\n| --- | --- | --- |'
  return [head, ...rows].join('\n')
}

/** Whether the page shows the tables. The formatter pads their cells. */
export function showsTables(described: Described): boolean {
  const page = readFileSync(PAGE, 'utf8')
  return unpadded(page) === unpadded(withTables(page, described))
}

export const writeTables = (described: Described): void =>
  writeFileSync(PAGE, withTables(readFileSync(PAGE, 'utf8'), described))

const withTables = (page: string, described: Described): string =>
  Object.entries(TABLES).reduce((text, [name, tableOf]) => {
    const place = new RegExp(`(<!-- ${name}: generated -->\n)[\\s\\S]*(<!-- /${name} -->)`)
    return text.replace(place, (_, begin: string, end: string) => `${begin}\n${tableOf(described)}\n\n${end}`)
  }, page)

const unpadded = (text: string): string => text.replace(/ +/g, ' ').replace(/-{3,}/g, '---')
