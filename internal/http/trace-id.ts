import { randomBytes } from 'node:crypto'

/** 32 hex digits: from the caller's traceparent (W3C Trace Context), otherwise generated. */
export function traceIdOf(traceparent: string): string {
  const given = /^00-([0-9a-f]{32})-[0-9a-f]{16}-[0-9a-f]{2}$/.exec(traceparent)?.[1]
  return given !== undefined && !/^0+$/.test(given) ? given : randomBytes(16).toString('hex')
}
