/** Runs other programs for the set-up. */
import { spawn } from 'node:child_process'

/**
 * @typedef {object} Outcome
 * @property {number} code 127 when the program does not exist
 * @property {string} output of stdout and stderr
 */

/**
 * Runs a program to its end and collects its output. Never rejects.
 *
 * @param {string} command
 * @param {readonly string[]} args
 * @param {{ cwd?: string, env?: NodeJS.ProcessEnv }} [options]
 * @returns {Promise<Outcome>}
 */
export function collect(command, args, options = {}) {
  return new Promise((resolve) => {
    const child = spawn(command, args, { ...options, stdio: ['ignore', 'pipe', 'pipe'] })
    let output = ''
    const take = (/** @type {Buffer} */ part) => {
      output += part
    }
    child.stdout.on('data', take)
    child.stderr.on('data', take)
    const giveUp = endWithUs(child)
    child.once('error', (error) => {
      giveUp()
      resolve({ code: 127, output: String(error) })
    })
    child.once('close', (code) => {
      giveUp()
      resolve({ code: code ?? 1, output })
    })
  })
}

/**
 * Runs a program in the foreground, with the streams and signals of this process.
 *
 * @param {string} command
 * @param {readonly string[]} args
 * @param {{ cwd?: string, env?: NodeJS.ProcessEnv }} [options]
 * @returns {Promise<number>} its exit code; 128 and more when a signal ended it
 */
export function foreground(command, args, options = {}) {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { ...options, stdio: 'inherit' })
    const giveUp = endWithUs(child)
    child.once('error', reject)
    child.once('exit', (code, signal) => {
      giveUp()
      resolve(code ?? (signal === 'SIGINT' ? 130 : 143))
    })
  })
}

/**
 * Forwards SIGINT and SIGTERM, so that no child outlives an interrupted set-up.
 *
 * @param {import('node:child_process').ChildProcess} child
 * @returns {() => void} stops doing so
 */
function endWithUs(child) {
  const hands = /** @type {const} */ (['SIGINT', 'SIGTERM']).map((signal) => {
    const handOn = () => {
      child.kill(signal)
      process.exitCode = signal === 'SIGINT' ? 130 : 143
    }
    process.on(signal, handOn)
    return () => process.off(signal, handOn)
  })
  return () => {
    for (const letGo of hands) letGo()
  }
}
