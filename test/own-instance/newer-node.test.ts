/**
 * The product on Node 24 with uWebSockets.js 20.57, where the tests themselves run on an older Node: the parser,
 * unpacking, credentials, admission and TLS, and on request the contract and the documents from `npm start` on, as a
 * run of their own.
 */
import { existsSync, mkdtempSync, readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import { ROOT } from '../../deploy/setup/setup.mjs'
import { newerNode } from '../support/newer-node.js'
import { launchCommand } from '../support/processes.js'
import { launchService, privateDataDir, UP_MAIN } from '../support/service.js'

/** Two files take longer than all others together, and are run on request (`CONTRIBUTING.md`). */
const LONG_FILES =
  process.env['ATTRIBUTION_NEWER_NODE'] === 'all'
    ? ['test/contract/contract.test.ts', 'test/own-instance/docs.test.ts']
    : []
const FILES = [
  'test/internal/http',
  'test/internal/ingest/bodies/zstd.test.ts',
  'test/internal/ingest/bulk/unpack.test.ts',
  'test/contract/credentials.test.ts',
  'test/own-instance/admission.test.ts',
  'test/own-instance/tls.test.ts',
  ...LONG_FILES,
]
/** A killed process or an outage is no matter of the parser: those tests run on this Node only. */
const WITHOUT_FAULTS = '^(?!.*(?:kill|outage))'
/** A fifth of the requests and of the operations that the run on this Node asks, with credentials of every kind. */
const CONTRACT_CASES = '400'

interface Report {
  readonly success: boolean
  readonly testResults: readonly {
    readonly name: string
    readonly status: string
    readonly assertionResults: readonly { readonly fullName: string; readonly status: string }[]
  }[]
}

const found = await newerNode()

test.skipIf(found.node === undefined)(
  'on Node 24 with uWebSockets.js 20.57 the same tests pass' +
    (found.reason === undefined ? '' : ` (skipped: ${found.reason})`),
  { timeout: 1_500_000, retry: 0 },
  async () => {
    const node = found.node ?? ''
    const reportFile = join(mkdtempSync(join(tmpdir(), 'newer-node-')), 'report.json')

    const nested = launchCommand(node, {
      args: [
        ...[join(ROOT, 'node_modules/vitest/vitest.mjs'), 'run', ...FILES],
        ...['--testNamePattern', WITHOUT_FAULTS, '--reporter=json', `--outputFile=${reportFile}`],
      ],
      cwd: ROOT,
      env: {
        // `npm` and `node` of the documents are then the newer ones.
        PATH: `${dirname(node)}${delimiter}${process.env['PATH'] ?? ''}`,
        ATTRIBUTION_CONTRACT_CASES: CONTRACT_CASES,
      },
    })
    await nested.exited

    const report = JSON.parse(readFileSync(reportFile, 'utf8')) as Report
    const results = report.testResults.flatMap(({ assertionResults }) => assertionResults)
    const failed = report.testResults.filter(({ status }) => status !== 'passed').map(({ name }) => name)
    expect({ failed, failedTests: results.filter(({ status }) => status === 'failed') }).toEqual({
      failed: [],
      failedTests: [],
    })
    const passedOn = (build: string): number =>
      results.filter(({ status, fullName }) => status === 'passed' && fullName.includes(`uWebSockets.js ${build}`))
        .length
    expect(passedOn('20.57')).toBeGreaterThan(20)
    expect(passedOn('20.30')).toBe(0)
    expect(FILES.filter((file) => !report.testResults.some(({ name }) => name.includes(file)))).toEqual([])
  },
)

test.skipIf(found.node === undefined)('the terminal and the log of the gateway name the build that runs', async () => {
  const service = await launchService({ node: found.node ?? '', roles: [] })

  await service.process.line(/HTTP parser +uWebSockets\.js 20\.57 on Node 24\./)
  await service.stop()

  expect(readFileSync(join(service.dataDir, 'logs', 'gateway.log'), 'utf8')).toMatch(
    /"http":"uWebSockets\.js 20\.57","node":"v24\..*"listening"/,
  )
})

/** Node 24 itself, without the libraries beside it. */
const plain = join(dirname(found.node ?? ''), 'package/bin/node')
const needsLibraries = existsSync(join(dirname(plain), '../../debian'))

test.skipIf(!needsLibraries)(
  'where no build of uWebSockets.js loads that is asked for, a start says for each why',
  async () => {
    const up = launchCommand(plain, { args: [UP_MAIN, '--data-dir', privateDataDir(), '--http-parser', 'uws'] })

    expect(await up.exited).toEqual({ code: 1, signal: null })
    // The variable that asks for more of this file is no setting of the product, which says so first.
    const said = up.lines.filter((line) => !line.includes('ATTRIBUTION_NEWER_NODE'))
    expect(said).toHaveLength(1)
    expect(said[0]).toMatch(
      /^up: no build .*: upstream is not installed; 20\.57 needs glibc 2\.38 or newer; 20\.30 has no binary for Node 24\./,
    )
  },
)
