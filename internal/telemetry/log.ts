import { type Logger, pino } from 'pino'

export type { Logger }

/**
 * The process's log: JSON lines on stderr, so that stdout stays free for what a person asked for.
 * Callers log ids and counts, never bodies; keys that could carry content or a secret are removed all the same.
 */
export const createLog = (role: string, level: string): Logger =>
  pino(
    {
      level,
      base: { role, pid: process.pid },
      timestamp: pino.stdTimeFunctions.isoTime,
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
    pino.destination({ dest: 2, sync: false }),
  )
