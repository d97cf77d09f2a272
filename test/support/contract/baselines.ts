/** The committed baselines of the public contract, in test/baselines/. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const fileOf = (name: string): string => fileURLToPath(new URL(`../../baselines/${name}.json`, import.meta.url))
const isRenewing = process.env['ATTRIBUTION_RENEW_BASELINES'] === '1'

/**
 * Compares the current contract with its baseline. When baselines are renewed, replaces the baseline, unless the
 * current contract breaks it.
 *
 * @returns the breaking changes
 */
export function compareWithBaseline<T>(name: string, current: T, faults: (before: T) => string[]): string[] {
  const file = fileOf(name)
  if (!existsSync(file) && !isRenewing) return ['the baseline is missing']
  const before = existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as T) : current
  const found = faults(before)
  if (isRenewing && found.length === 0) writeFileSync(file, `${JSON.stringify(current, null, 2)}\n`)
  return found
}
