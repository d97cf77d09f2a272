import { type DestinationStream, type Logger, type LoggerOptions, pino } from 'pino'
import { asText } from './log-text.js'
import { RepeatedLines } from './repeated-lines.js'

export type { Logger }

export const LOG_FORMATS = ['auto', 'json', 'text'] as const
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
