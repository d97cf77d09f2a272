/**
 * The output of the set-up: short lines on stderr when a step begins and when it ends, with its duration, and one line
 * when it fails. Steps that have nothing to do print nothing.
 */

/** The set-up has failed. The message is one line that says what is wrong and how to correct it. */
export class SetUpError extends Error {}

/**
 * Runs a step that takes a while and prints its name and duration.
 *
 * @template T
 * @param {string} what in the form "installing the dependencies"
 * @param {() => Promise<T>} work
 * @returns {Promise<T>}
 */
export async function step(what, work) {
  const startedAt = Date.now()
  process.stderr.write(`set-up: ${what} ...\n`)
  try {
    const result = await work()
    process.stderr.write(`set-up: ${what}: ${((Date.now() - startedAt) / 1000).toFixed(1)} s\n`)
    return result
  } catch (error) {
    process.stderr.write(`set-up: ${what}: failed\n`)
    throw error
  }
}

/**
 * Waits for steps that run beside each other, all to their ends: a step that has failed leaves no other one running.
 *
 * @template {readonly unknown[]} T
 * @param {T} steps
 * @returns {Promise<{ -readonly [K in keyof T]: Awaited<T[K]> }>}
 */
export async function together(steps) {
  await Promise.allSettled(steps)
  return Promise.all(steps)
}

/**
 * Runs a main of the set-up. A SetUpError ends the process with one line on stderr and exit code 1.
 *
 * @param {() => Promise<void>} main
 */
export async function runSetUpMain(main) {
  try {
    await main()
  } catch (error) {
    if (!(error instanceof SetUpError)) throw error
    process.stderr.write(`set-up: ${error.message}\n`)
    process.exit(1)
  }
}

/**
 * Turns an error of the file system into a SetUpError; returns other errors unchanged.
 *
 * @param {unknown} error
 * @returns {unknown}
 */
export function explainFileError(error) {
  const { code, path } = /** @type {NodeJS.ErrnoException} */ (error)
  if (code === 'EACCES' || code === 'EPERM' || code === 'EROFS') {
    return new SetUpError(
      `${path} cannot be written (${code}); change the owner of the folder, or copy the project to a folder of yours`,
    )
  }
  if (code === 'ENOSPC') return new SetUpError(`the disk is full (${path}); the set-up needs about 1.5 GB`)
  return error
}
