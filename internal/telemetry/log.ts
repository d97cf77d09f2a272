import { type DestinationStream, type Logger, type LoggerOptions, pino } from 'pino'

export type { Logger }

const LOG_FORMATS = ['auto', 'json', 'text'] as const
/** `auto`: text at a terminal, else JSON. */
export type LogFormat = (typeof LOG_FORMATS)[number]

interface LogOptions {
  /** Of the service; shown in each line of JSON. */
  readonly version?: string
  readonly format?: LogFormat
  /** Default: stderr, so that stdout stays free for what a person asked for. */
  readonly destination?: DestinationStream
}

/**
 * The process's log: one line per message, as JSON or as text. Callers log ids and counts, never bodies; keys that
 * could carry content or a secret are removed all the same.
 */
export const createLog = (
  role: string,
  level: string,
  { version, format = 'auto', destination = pino.destination({ dest: 2, sync: false }) }: LogOptions = {},
): Logger =>
  pino(
    {
      level,
      base: { role, version, pid: process.pid },
      timestamp: pino.stdTimeFunctions.isoTime,
      hooks: { logMethod: thinningOut(new RepeatedLines(() => performance.now())) },
      formatters: { level: (label) => ({ level: label }) },
      redact: {
        paths: [
          'prompt',
          'messages',
          'completion',
          'content',
          'input',
          'output',
          'secret',
          'api_key',
          'password',
          '*.prompt',
          '*.messages',
          '*.completion',
          '*.content',
          '*.secret',
          '*.api_key',
          '*.password',
        ],
        remove: true,
      },
    },
    isText(format) ? { write: (line: string) => void destination.write(asText(line)) } : destination,
  )

/** Leaves out lines whose error repeats with the same text; the next one has their number as `repeated`. */
const thinningOut = (repeated: RepeatedLines): NonNullable<NonNullable<LoggerOptions['hooks']>['logMethod']> =>
  function logMethod(args, method) {
    const [fields, text] = args as unknown[]
    if (typeof fields !== 'object' || fields === null || !('err' in fields)) return method.apply(this, args)
    const { err } = fields
    const leftOut = repeated.leftOut(`${String(text)}\n${err instanceof Error ? err.message : String(err)}`)
    if (leftOut === undefined) return
    if (leftOut === 0) return method.apply(this, args)
    method.apply(this, [{ ...fields, repeated: leftOut }, ...args.slice(1)] as unknown as typeof args)
  }

const isText = (format: LogFormat): boolean => format === 'text' || (format === 'auto' && process.stderr.isTTY === true)

/** Members of a line that come first, or that tell a person at a terminal nothing. */
const SHOWN_APART = new Set(['level', 'time', 'role', 'version', 'pid', 'msg', 'err'])

/**
 * A line of the log for a person: `10:31:07.204 WARN gateway request refused status=401 error_code=UNAUTHENTICATED`, an
 * error's stack below it.
 *
 * @param line of JSON, as pino writes it
 */
function asText(line: string): string {
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

/** Lines of one kind that are logged before they count as repeated, */
const SHOWN = 3
/** and then one in this time. */
const EVERY_MS = 60_000
/** Kinds that are known; beyond them the oldest are forgotten, which only makes lines more. */
const KINDS_MAX = 1_000

interface Kind {
  windowFromMs: number
  shown: number
  left: number
}

/**
 * Thins out repeated failures: an outage of an hour in which twenty loops retry twice per second is some hundred lines,
 * not a hundred thousand.
 */
export class RepeatedLines {
  private readonly clock: () => number
  private readonly kinds = new Map<string, Kind>()

  /** @param clock milliseconds, monotonic */
  constructor(clock: () => number) {
    this.clock = clock
  }

  /** @returns lines of the kind left out since the last logged one; undefined: leave out this one, too */
  leftOut(kind: string): number | undefined {
    const nowMs = this.clock()
    const known = this.kinds.get(kind)
    if (known === undefined) {
      if (this.kinds.size >= KINDS_MAX) this.kinds.delete(this.kinds.keys().next().value as string)
      this.kinds.set(kind, { windowFromMs: nowMs, shown: 1, left: 0 })
      return 0
    }
    const isNewWindow = nowMs - known.windowFromMs >= EVERY_MS
    if (!isNewWindow && known.shown >= SHOWN) {
      known.left++
      return undefined
    }
    const { left } = known
    // One per window while it goes on; as at first after a window without any.
    if (isNewWindow) Object.assign(known, { windowFromMs: nowMs, shown: left === 0 ? 0 : SHOWN - 1 })
    known.shown++
    known.left = 0
    return left
  }
}
