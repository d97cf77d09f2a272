import { spawnSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import type { Reporter, TestModule } from 'vitest/node'
import { cellsOf, TABLE, withRows } from '../conformance/table.js'
import { PROJECTS, SECONDS_FILE } from './projects.js'
import { isConformance } from './rings.js'

const SHOWN = 20
const NOTED_SECONDS_MIN = 2

/** Lists each test that passed only on a retry: a bug of the product or of the test, to be investigated. */
export const flakyTests: Reporter = {
  onTestRunEnd(modules: readonly TestModule[]): void {
    for (const module of modules) {
      for (const test of module.children.allTests('passed')) {
        if (!test.diagnostic()?.flaky) continue
        console.log(`FLAKY  ${module.relativeModuleId} > ${test.fullName}`)
        for (const { stack, message, cause } of test.result().errors ?? []) {
          console.log(stack ?? message)
          // fast-check puts the failure itself into the cause.
          if (cause !== undefined) console.log('caused by', cause)
        }
      }
    }
  },
}

/**
 * Notes the files with failed tests in the file that FAILED_TEST_FILES names, unless something failed outside a test:
 * `npm test` runs them again alone.
 */
export const failedFiles: Reporter = {
  onTestRunEnd(modules: readonly TestModule[], errors: readonly unknown[]): void {
    const file = process.env['FAILED_TEST_FILES']
    if (file === undefined || errors.length > 0) return
    const failed = modules.filter((module) => module.state() === 'failed').map((module) => module.relativeModuleId)
    writeFileSync(file, failed.join('\n'))
  },
}

const secondsOf = (module: TestModule): number => {
  const { prepareDuration, environmentSetupDuration, setupDuration, collectDuration, duration } = module.diagnostic()
  return (prepareDuration + environmentSetupDuration + setupDuration + collectDuration + duration) / 1_000
}

/**
 * Prints the slowest files and the time of each project, as the sum over its files in all workers.
 * ATTRIBUTION_RENEW_SECONDS=1 records the durations that determine the order of the next runs.
 */
export const slowestFiles: Reporter = {
  onTestRunEnd(modules: readonly TestModule[]): void {
    const timed = modules
      .map((module) => ({
        file: module.relativeModuleId,
        project: module.project.name,
        seconds: secondsOf(module),
        processor: module.meta().processorSeconds ?? 0,
      }))
      .sort((a, b) => b.seconds - a.seconds)
    if (timed.length < SHOWN) return

    const show = (seconds: number, what: string): void => console.log(`${seconds.toFixed(1).padStart(8)} s  ${what}`)
    console.log('\nSlowest files')
    for (const { file, seconds } of timed.slice(0, SHOWN)) show(seconds, file)
    console.log('\nMost processor time')
    const costly = timed.toSorted((a, b) => b.processor - a.processor)
    for (const { file, processor } of costly.slice(0, SHOWN)) show(processor, file)
    console.log('\nProjects, and their processor time')
    for (const name of PROJECTS) {
      const own = timed.filter(({ project }) => project === name)
      const processor = own.reduce((sum, file) => sum + file.processor, 0)
      const total = own.reduce((sum, { seconds }) => sum + seconds, 0)
      if (own.length > 0) show(total, `${processor.toFixed(1).padStart(8)} s  ${name} (${own.length} files)`)
    }
    if (process.env['ATTRIBUTION_RENEW_SECONDS'] !== undefined) noteSeconds(timed)
  },
}

function noteSeconds(timed: readonly { readonly file: string; readonly seconds: number }[]): void {
  const before = JSON.parse(readFileSync(SECONDS_FILE, 'utf8')) as Record<string, number>
  for (const { file, seconds } of timed) {
    delete before[file]
    if (seconds >= NOTED_SECONDS_MIN) before[file] = Math.round(seconds)
  }
  const sorted = Object.fromEntries(Object.entries(before).sort(([, a], [, b]) => b - a))
  writeFileSync(SECONDS_FILE, `${JSON.stringify(sorted, null, 2)}\n`)
}

/** Writes the rows of `deploy/docs/conformance.md` of the tests that passed; those of skipped tests stay as they are. */
export const conformanceTable: Reporter = {
  onTestRunEnd(modules: readonly TestModule[]): void {
    const rows = modules
      .filter(({ relativeModuleId }) => isConformance(relativeModuleId))
      .flatMap((module) =>
        [...module.children.allTests('passed')].flatMap((test) => {
          const { conformance } = test.meta()
          return conformance === undefined ? [] : [cellsOf(module.relativeModuleId.split('/')[2] ?? '', conformance)]
        }),
      )
    if (rows.length === 0) return
    writeFileSync(TABLE, withRows(readFileSync(TABLE, 'utf8'), rows))
    const biome = fileURLToPath(new URL('../../../node_modules/@biomejs/biome/bin/biome', import.meta.url))
    spawnSync(process.execPath, [biome, 'format', '--write', TABLE])
  },
}
