/**
 * How the set-up speaks: one short line on stderr for each thing that had to be done, with the time it took, and one
 * clear line when it cannot go on. Nothing is said about what was already there.
 */

/** The set-up cannot go on. The message is one line that says what is wrong and what to do about it. */
export class SetUpError extends Error {}

/**
 * Runs a piece of work that takes a while and says so.
 *
 * @template T
 * @param {string} what in the form "installing the dependencies"
 * @param {() => Promise<T>} work
 * @returns {Promise<T>}
 */
export async function step(what, work) {
  const startedAt = Date.now()
  process.stderr.write(`set-up: ${what} ... `)
  try {
    const result = await work()
    process.stderr.write(`${((Date.now() - startedAt) / 1000).toFixed(1)} s\n`)
    return result
  } catch (error) {
    process.stderr.write('failed\n')
    throw error
  }
}

/**
 * Runs a main of the set-up: what it cannot do becomes one line on stderr and exit code 1.
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
 * A failure of the file system as one line; anything else as it is.
 *
 * @param {unknown} error
 * @returns {unknown}
 */
export function explainFileError(error) {
  const { code, path } = /** @type {NodeJS.ErrnoException} */ (error)
  if (code === 'EACCES' || code === 'EPERM' || code === 'EROFS') {
    return new SetUpError(
      `${path} cannot be written (${code}); make the folder yours, or copy the project to one that is`,
    )
  }
  if (code === 'ENOSPC') return new SetUpError(`the disk is full (${path}); the set-up needs about 1.5 GB`)
  return error
}
