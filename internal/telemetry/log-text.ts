/** Members of a line that come first, or that tell a person at a terminal nothing. */
const SHOWN_APART = new Set(['level', 'time', 'role', 'version', 'pid', 'msg', 'err'])

/**
 * A line of the log for a person: `10:31:07.204 WARN gateway request refused status=401 error_code=UNAUTHENTICATED`, an
 * error's stack below it.
 *
 * @param line of JSON, as pino writes it
 */
export function asText(line: string): string {
  const entry = JSON.parse(line) as Readonly<Record<string, unknown>>
  const { level, time, role, msg = '', err } = entry
  const members = Object.entries(entry)
    .filter(([name]) => !SHOWN_APART.has(name))
    .map(([name, value]) => `${name}=${typeof value === 'string' ? value : JSON.stringify(value)}`)
  const head = [String(time).slice(11, 23), String(level).toUpperCase().padEnd(5), role, oneLine(String(msg))].join(' ')
  return `${[head, ...members.map(oneLine)].join('  ')}\n${stackOf(err)}`
}

/** Values from outside cannot begin a line of their own. */
const oneLine = (text: string): string => text.replace(/[\r\n]+/g, ' ')

function stackOf(err: unknown): string {
  if (typeof err !== 'object' || err === null) return ''
  const { stack, message } = err as { readonly stack?: unknown; readonly message?: unknown }
  const text = String(stack ?? message ?? '')
  return text === '' ? '' : `${text.replace(/^/gm, '    ')}\n`
}
