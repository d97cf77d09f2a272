/** How long a dependency may take to answer before the terminal says what is waited for. */
const QUIET_MS = 700
const REPEAT_MS = 30_000

/**
 * Writes one line on stderr, within a second and then every thirty, while `pending` does: what is waited for, where,
 * and since when.
 */
export async function sayWhileWaiting<T>(
  what: string,
  url: string,
  pending: Promise<T>,
  write: (line: string) => void = (line) => void process.stderr.write(`${line}\n`),
): Promise<T> {
  const since = new Date().toISOString()
  // A password in the address is not for the terminal.
  const where = url.replace(/\/\/[^/@,]*@/g, '//')
  const say = (): void => {
    write(`waiting for ${what} at ${where} since ${since}: it does not answer`)
    timer = setTimeout(say, REPEAT_MS)
  }
  let timer = setTimeout(say, QUIET_MS)
  try {
    return await pending
  } finally {
    clearTimeout(timer)
  }
}
