/**
 * The last released version, built beside this one, for tests in which both run at once. It is taken from the history
 * of git.
 */
import { existsSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { collect } from './commands.mjs'
import { isAtLeast } from './versions.mjs'

/** A released version has left a data folder here, in a commit with its sources. */
const DATA_FOLDERS = 'test/fixtures/data-folders'

/**
 * @param {string} root the project's folder
 * @returns {Promise<import("./older-build.mjs").OlderBuild>} the built checkout, or
 *   why there is none here
 */
export async function olderBuild(root) {
  const archives = readdirSync(join(root, DATA_FOLDERS)).filter((name) => name.endsWith('.tar.gz'))
  const version = archives
    .map((name) => name.replace('.tar.gz', ''))
    .reduce((newest, one) => (isAtLeast(one, newest) ? one : newest))
  const archive = `${DATA_FOLDERS}/${version}.tar.gz`
  const log = await collect('git', ['log', '-1', '--format=%H', '--', archive], { cwd: root })
  const commit = log.code === 0 ? log.output.trim() : ''
  if (!/^[0-9a-f]{40,64}$/.test(commit)) return { reason: `the history of git does not have version ${version}` }

  const folder = join(root, '.local', `build-${version}-${commit.slice(0, 12)}`)
  if (existsSync(folder)) return { folder }
  mkdirSync(join(root, '.local'), { recursive: true })
  const work = mkdtempSync(join(root, '.local', '.build-'))
  try {
    const tar = join(work, 'sources.tar')
    await must('git', ['archive', '--output', tar, commit], root)
    await must('tar', ['-xf', tar, '-C', work], root)
    rmSync(tar)
    // Its dependencies are those of today: newer versions of the same packages.
    symlinkSync(join(root, 'node_modules'), join(work, 'node_modules'))
    const { ensureBuild } = await import(pathToFileURL(join(work, 'deploy/setup/build.mjs')).href)
    await ensureBuild(work)
    renameSync(work, folder)
    return { folder }
  } catch (error) {
    return { reason: `version ${version} cannot be built: ${/** @type {Error} */ (error).message.split('\n')[0]}` }
  } finally {
    rmSync(work, { recursive: true, force: true })
  }
}

/**
 * @param {string} command
 * @param {readonly string[]} args
 * @param {string} cwd
 */
async function must(command, args, cwd) {
  const { code, output } = await collect(command, args, { cwd })
  if (code !== 0) throw new Error(`${command} ${args[0]}: ${output.trim()}`)
}
