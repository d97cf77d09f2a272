import { spawnSync } from 'node:child_process'
import { cp, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { linkProgram } from '../../../deploy/setup/dependencies.mjs'
import { ROOT } from '../../../deploy/setup/setup.mjs'

let project: string
const run = (...args: readonly string[]) =>
  spawnSync(join(project, 'node_modules', '.bin', 'attribution'), args, { encoding: 'utf8' })

beforeEach(async () => {
  project = await mkdtemp(join(tmpdir(), 'program-'))
  await cp(join(ROOT, 'deploy', 'setup', 'attribution.mjs'), join(project, 'deploy', 'setup', 'attribution.mjs'))
  linkProgram(project)
  // Repeated at each start.
  linkProgram(project)
})

afterEach(() => rm(project, { recursive: true, force: true }))

test('the program runs the built command line with its arguments', async () => {
  await mkdir(join(project, 'dist', 'cmd', 'attribution'), { recursive: true })
  await writeFile(join(project, 'dist/cmd/attribution/main.js'), 'console.log(process.argv.slice(2).join())\n')

  expect(run('tenant', 'list')).toMatchObject({ status: 0, stdout: 'tenant,list\n' })
})

test('the program says how to build the service when it is not built', () => {
  const { status, stdout, stderr } = run('tenant', 'list')

  expect({ status, stdout }).toEqual({ status: 1, stdout: '' })
  expect(stderr).toMatch(/^attribution: the service is not built yet; run "npm start" in .+ first, which builds it\n$/)
})
