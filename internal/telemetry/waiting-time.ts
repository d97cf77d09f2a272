/** How long a dependency may take to answer before a line names it. */
const QUIET_MS = 700
const REPEAT_MS = 30_000

/**
 * While `pending` is pending, writes a line to stderr within a second and then every 30: the dependency, its address,
 * and since when it has not answered.
 */
export async function reportWhileWaiting<T>(
  what: string,
  url: string,
  pending: Promise<T>,
  write: (line: string) => void = (line) => void process.stderr.write(`${line}\n`),
): Promise<T> {
  const since = new Date().toISOString()
  // A password in the address is not for the terminal.
  const where = url.replace(/\/\/[^/@,]*@/g, '//')
  const report = (): void => {
    write(`waiting for ${what} at ${where} since ${since}: it does not answer`)
    timer = setTimeout(report, REPEAT_MS)
  }
  let timer = setTimeout(report, QUIET_MS)
  try {
    return await pending
  } finally {
    clearTimeout(timer)
  }
}
