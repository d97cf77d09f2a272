import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'

/** Result files: JSON, one a question, committed with the change they belong to. */

/** @returns the result of an earlier run, if any */
export const readResult = <T>(file: string): T | undefined =>
  existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as T) : undefined

export function writeResult(file: string, result: object): void {
  mkdirSync(dirname(file), { recursive: true })
  const rounded = (_: string, value: unknown): unknown =>
    typeof value === 'number' ? Number(value.toPrecision(5)) : value
  writeFileSync(file, `${JSON.stringify(result, rounded, 2)}\n`)
}
