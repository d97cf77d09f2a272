/**
 * The browser of the tests: headless Chromium, which an npm package carries compressed, with the libraries and the font
 * that a bare Linux lacks. Unpacked once per version into `.local/chromium/` (some three seconds, 0.3 GB).
 */
import {
  createReadStream,
  createWriteStream,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { brotliDecompressSync, createBrotliDecompress } from 'node:zlib'
import { collect } from './commands.mjs'
import { SetUpError, step } from './steps.mjs'

/**
 * @typedef {object} Chromium
 * @property {string} path of the program
 * @property {string} libraries the folder for LD_LIBRARY_PATH
 */

/**
 * @param {string} root the project's folder
 * @returns {Promise<Chromium>}
 */
export async function ensureChromium(root) {
  const carrier = join(root, 'node_modules', '@sparticuz', 'chromium')
  const { version } = JSON.parse(readFileSync(join(carrier, 'package.json'), 'utf8'))
  const parent = join(root, '.local', 'chromium')
  const folder = join(parent, version)
  if (!existsSync(folder)) await step('unpacking Chromium', () => unpack(join(carrier, 'bin'), parent, folder))
  return { path: join(folder, 'chrome'), libraries: join(folder, 'lib') }
}

/**
 * @param {string} archives
 * @param {string} parent
 * @param {string} folder
 */
async function unpack(archives, parent, folder) {
  mkdirSync(parent, { recursive: true })
  const work = mkdtempSync(join(parent, '.unpacking-'))
  const read = (/** @type {string} */ name) => createReadStream(join(archives, name))
  await pipeline(
    read('chromium.br'),
    createBrotliDecompress(),
    createWriteStream(join(work, 'chrome'), { mode: 0o755 }),
  )
  for (const name of ['al2023.tar.br', 'fonts.tar.br']) {
    const archive = join(work, name.replace('.br', ''))
    writeFileSync(archive, brotliDecompressSync(readFileSync(join(archives, name))))
    const { code, output } = await collect('tar', ['-xf', archive, '-C', work])
    if (code !== 0) throw new SetUpError(`Chromium cannot be unpacked: ${output.trim()}`)
    rmSync(archive)
  }
  try {
    renameSync(work, folder)
  } catch (cause) {
    // Another process has unpacked the same version meanwhile.
    if (!existsSync(folder)) throw cause
    rmSync(work, { recursive: true })
  }
}
