import { execFileSync, spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { olderBuild } from '../../../deploy/setup/older-build.mjs'

const hasGit = spawnSync('git', ['--version']).status === 0

/** A project with data folders of two versions, whose build writes what it was built from. */
function project(): { root: string; write(path: string, text: string): void; git(...args: string[]): void } {
  const root = mkdtempSync(join(tmpdir(), 'attribution-older-'))
  const write = (path: string, text: string): void => {
    mkdirSync(join(root, path, '..'), { recursive: true })
    writeFileSync(join(root, path), text)
  }
  mkdirSync(join(root, 'node_modules'))
  write('test/fixtures/data-folders/0.9.0.tar.gz', '')
  const build = `import { readFileSync, writeFileSync } from 'node:fs'
export const ensureBuild = async (root) => writeFileSync(root + '/built', readFileSync(root + '/sources'))`
  write('deploy/setup/build.mjs', build)
  write('sources', 'of 0.9.0')
  const git = (...args: string[]): void => {
    const identity = ['-c', 'user.name=test', '-c', 'user.email=test@example.com']
    execFileSync('git', [...identity, ...args], { cwd: root, stdio: 'ignore' })
  }
  return { root, write, git }
}

test('without a history there is no older build, and a reason', async () => {
  const { root } = project()

  expect(await olderBuild(root)).toEqual({ reason: 'the history of git does not have version 0.9.0' })
})

test.skipIf(!hasGit)('the newest released version is built from the commit of its data folder', async () => {
  const { root, write, git } = project()
  git('init')
  git('add', '.')
  git('commit', '-m', '0.9.0')
  write('test/fixtures/data-folders/0.10.0.tar.gz', '')
  write('sources', 'of 0.10.0')
  git('add', '.')
  git('commit', '-m', '0.10.0')
  write('sources', 'of today')
  git('commit', '-am', 'later')

  const { folder = '' } = await olderBuild(root)

  expect(readFileSync(join(folder, 'built'), 'utf8')).toBe('of 0.10.0')
  expect(existsSync(join(folder, 'node_modules'))).toBe(true)
  expect(await olderBuild(root)).toEqual({ folder })
})

test.skipIf(!hasGit)('a version that does not build is no older build, and leaves nothing', async () => {
  const { root, write, git } = project()
  git('init')
  write('deploy/setup/build.mjs', 'export const ensureBuild = async () => { throw new Error("broken") }')
  git('add', '.')
  git('commit', '-m', '0.9.0')

  expect(await olderBuild(root)).toEqual({ reason: 'version 0.9.0 cannot be built: broken' })
  expect(existsSync(join(root, '.local', 'build'))).toBe(false)
})
