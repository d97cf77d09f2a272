import { defineConfig } from 'vitest/config'
import type { Reporter, TestModule } from 'vitest/node'

/** Names what passed only when it was repeated: each is a fault, of the product or of the test, to be looked into. */
const flakyTests: Reporter = {
  onTestRunEnd(modules: readonly TestModule[]): void {
    for (const module of modules) {
      for (const test of module.children.allTests('passed')) {
        if (!test.diagnostic()?.flaky) continue
        console.log(`FLAKY  ${module.relativeModuleId} > ${test.fullName}`)
        for (const { stack, message, cause } of test.result().errors ?? []) {
          console.log(stack ?? message)
          // fast-check tells in the cause what was wrong.
          if (cause !== undefined) console.log('caused by', cause)
        }
      }
    }
  },
}

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    globalSetup: 'test/support/run-folder.ts',
    // Engines and brokers start inside the tests; the machine that CI has is small and shared.
    testTimeout: 180_000,
    hookTimeout: 300_000,
    retry: 1,
    reporters: ['default', flakyTests],
    pool: 'forks',
    maxWorkers: 2,
  },
})
