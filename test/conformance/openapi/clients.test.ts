/** The programs of `deploy/docs/generated-clients.md`: clients are generated from what is served, compiled and run. */
import { copyFileSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll } from 'vitest'
import { run } from '../../support/clients/run.js'
import type { Checks } from '../../support/conformance/checks.js'
import { pinnedVersion } from '../../support/conformance/pins.js'
import { conformance } from '../../support/conformance/program.js'
import { type TenantWithRecords, tenantWithRecords } from '../../support/conformance/tenant.js'
import { codeBlocks, textOf } from '../../support/docs.js'
import { privateDataDir } from '../../support/service.js'

let tenant: TenantWithRecords
let description: string
beforeAll(async () => {
  tenant = await tenantWithRecords()
  description = await (await fetch(`${tenant.baseUrl}/openapi.json`)).text()
})

const TRIES = 'generated client: compiles, posts, lists, pages, reads an error'
const programIn = (language: string): string =>
  codeBlocks(textOf('deploy/docs/generated-clients.md')).find((block) => block.language === language)?.code ?? ''

/** What the three programs print. */
const PRINTED: Readonly<Record<string, RegExp>> = {
  'posts an event': /^posted inv_/m,
  // Of 25 records at most.
  'lists page by page': /^listed (?:[3-9]\d|\d{3,})$/m,
  'reads an error': /^error 404 NOT_FOUND \S/m,
}

type Step = readonly [what: string, program: string, args: readonly string[]]

/** Takes steps one after the other in a folder, of which the last one is the program. */
async function steps(cwd: string, all: readonly Step[]): Promise<Checks> {
  const checks = new Map<string, string | undefined>()
  const env = { ATTRIBUTION_URL: tenant.baseUrl, ATTRIBUTION_API_KEY: tenant.credentials.api_key }
  let printed = ''
  for (const [what, program, args] of all) {
    const { code, output } = await run(program, args, { cwd, env, minutesMax: 9 })
    checks.set(what, code === 0 ? undefined : output.slice(-2_000))
    printed = output
  }
  for (const [what, line] of Object.entries(PRINTED)) checks.set(what, line.test(printed) ? undefined : printed)
  return checks
}

function prepared(program: string, code: string): string {
  const folder = privateDataDir()
  writeFileSync(join(folder, 'openapi.json'), description)
  writeFileSync(join(folder, program), code)
  return folder
}

conformance(
  {
    name: 'oapi-codegen',
    version: pinnedVersion('openapi/go', 'github.com/oapi-codegen/oapi-codegen/v2'),
    tries: TRIES,
    installs: 'openapi/go',
  },
  async (installed) => {
    const folder = prepared('main.go', programIn('go'))
    for (const file of ['go.mod', 'go.sum']) copyFileSync(join(installed, file), join(folder, file))
    mkdirSync(join(folder, 'api'))
    const generate = [
      'oapi-codegen',
      '-package',
      'api',
      '-generate',
      'types,client',
      '-o',
      'api/api.go',
      'openapi.json',
    ]
    return steps(folder, [
      ['generates', 'go', ['tool', ...generate]],
      ['compiles', 'go', ['build', '-o', 'program', '.']],
      ['runs', join(folder, 'program'), []],
    ])
  },
)

conformance(
  {
    name: 'openapi-python-client',
    version: pinnedVersion('openapi/python', 'openapi-python-client'),
    tries: TRIES,
    installs: 'openapi/python',
  },
  async (installed) => {
    const folder = prepared('main.py', programIn('python'))
    const python = join(installed, 'venv', 'bin', 'python')
    const generate = ['generate', '--path', 'openapi.json', '--meta', 'none', '--output-path', 'attribution_api']
    const { output } = await run(python, ['-m', 'openapi_python_client', ...generate], { cwd: folder, minutesMax: 5 })
    // Media types that it does not know, beside JSON.
    const left = [...output.matchAll(/^(?:Unable|Cannot|Could not|Unsupported).*/gm)].map(([line]) => line)
    const lost = left.filter((line) => !/^Unsupported content type (?:application\/\S*(?:nd|l)|text\/csv)/.test(line))
    const checks = new Map(await steps(folder, [['runs', python, ['main.py']]]))
    return checks.set('leaves out no schema and no answer', lost.length === 0 ? undefined : lost.join('\n'))
  },
)

conformance(
  {
    name: 'openapi-typescript',
    version: pinnedVersion('openapi/typescript', 'openapi-typescript'),
    tries: TRIES,
    installs: 'openapi/typescript',
  },
  async (installed) => {
    writeFileSync(join(installed, 'openapi.json'), description)
    writeFileSync(join(installed, 'main.ts'), programIn('ts'))
    const bin = (name: string): string => join(installed, 'node_modules', '.bin', name)
    const strict = ['--target', 'es2022', '--module', 'nodenext', '--strict', '--skipLibCheck']
    return steps(installed, [
      ['generates', bin('openapi-typescript'), ['openapi.json', '-o', 'schema.d.ts']],
      ['compiles', bin('tsc'), [...strict, 'main.ts']],
      ['runs', process.execPath, ['main.js']],
    ])
  },
)
