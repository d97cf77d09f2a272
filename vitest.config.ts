import { existsSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { defineConfig } from 'vitest/config'
import { BUILT_MODULES, builtModules, TESTS_THE_BUILD } from './test/support/run/built.js'
import { PROJECTS, projectOf, testFiles } from './test/support/run/projects.js'
import { conformanceTable, failedFiles, flakyTests, slowestFiles } from './test/support/run/reporters.js'
import { isConformance, isOuter, RUNS_BOTH_RINGS } from './test/support/run/rings.js'
import { LongestFirst } from './test/support/run/sequence.js'

// What a test launches is the build; unit tests launch nothing.
if (!existsSync('dist/.built') && !/--project[ =]unit/.test(process.argv.join(' '))) {
  console.error('These tests launch the build, and there is none: npm run build')
  process.exit(1)
}

// A file that is named, or that a change reaches, runs whatever its ring.
const args = process.argv.slice(2)
const named = args.filter((arg) => arg.startsWith('test/') || arg.endsWith('.test.ts'))
const isOfBothRings = RUNS_BOTH_RINGS || args.some((arg) => arg.startsWith('--changed'))
const files = testFiles().filter(
  (file) => named.some((name) => file.includes(name)) || (!isConformance(file) && (isOfBothRings || !isOuter(file))),
)

/**
 * Tests of the product spend half of their time waiting for timers, leases and restarts: of two processors, four workers
 * used 1.6. With six, on a slow machine, a test of the outer ring failed: deliveries at 1,000 events per second.
 */
const DEFAULT_WORKERS = availableParallelism() + (RUNS_BOTH_RINGS ? 2 : 3)
// Of the command line vitest passes it to no project, and a failed file would not run alone.
const stated = args.find((arg) => arg.startsWith('--maxWorkers='))
const maxWorkers = stated === undefined ? DEFAULT_WORKERS : Number(stated.split('=')[1])

export default defineConfig({
  test: {
    globalSetup: 'test/support/run/folder.ts',
    reporters: ['default', flakyTests, failedFiles, slowestFiles, conformanceTable],
    maxWorkers,
    sequence: { sequencer: LongestFirst },
    projects: PROJECTS.map((name) => ({
      plugins: TESTS_THE_BUILD ? [builtModules] : [],
      test: {
        name,
        include: files.filter((file) => projectOf(file) === name),
        setupFiles: ['test/support/run/each-file.ts'],
        server: { deps: { external: TESTS_THE_BUILD ? [BUILT_MODULES] : [] } },
        pool: 'forks',
        // A worker runs many files, which share its modules: to load them for each took seconds of processor time.
        isolate: false,
        maxWorkers,
        retry: 1,
        // Engines and brokers start inside the tests, and the machine of CI is small and shared.
        testTimeout: 300_000,
        hookTimeout: 400_000,
        // Awaited states of the product: the default of one second is too short on a busy machine.
        expect: { poll: { timeout: 120_000, interval: 100 } },
      },
    })),
  },
})
