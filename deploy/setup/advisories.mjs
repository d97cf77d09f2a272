/**
 * `npm run advisories`: known vulnerabilities of the packages that are shipped, as the registry knows them. Exit code
 * 0: none; 1: some; 2: the registry does not answer, so that nothing is known.
 */
import { fileURLToPath } from 'node:url'
import { collect } from './commands.mjs'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))

/**
 * What npm's report says.
 *
 * @param {string} json output of `npm audit --json`
 * @returns {{ code: 0 | 1 | 2, lines: string[] }}
 */
export function verdictOf(json) {
  /**
   * @type {{ auditReportVersion?: number, message?: string, vulnerabilities?: Record<string, { severity?: string,
   * range?: string, fixAvailable?: unknown }> }}
   */
  let report
  try {
    report = JSON.parse(json)
  } catch {
    return { code: 2, lines: ['npm gave no report; nothing is known'] }
  }
  if (report.auditReportVersion === undefined) {
    const reason = report.message === undefined ? '' : ` (${(report.message.split(' - ')[0] ?? '').slice(0, 80)})`
    return { code: 2, lines: [`the registry does not answer for advisories${reason}; nothing is known`] }
  }
  const found = Object.entries(report.vulnerabilities ?? {})
  if (found.length === 0) return { code: 0, lines: ['no known advisory concerns a shipped package'] }
  return {
    code: 1,
    lines: found.map(
      ([name, { severity = 'unknown', range = '', fixAvailable }]) =>
        `${severity}: ${name} ${range}${fixAvailable ? ', a corrected version is available' : ''}`,
    ),
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const npm = process.env.npm_execpath
  const [command, ...first] = npm === undefined ? ['npm'] : [process.execPath, npm]
  const { output } = await collect(command, [...first, 'audit', '--json', '--omit=dev'], { cwd: ROOT })
  const { code, lines } = verdictOf(output.slice(output.indexOf('{'), output.lastIndexOf('}') + 1))
  for (const line of lines) process.stdout.write(`advisories: ${line}\n`)
  process.exit(code)
}
