import { SESSION_IDLE_S_MAX } from './sessions.js'

/**
 * The cookie of a console session: the refresh token of the console's client, where no script can read it. One for each
 * tenant. Browsers keep a `__Host-` cookie for this host alone, and only over https; over http, which is for one's own
 * machine, ports share cookies, so that the name says the port.
 *
 * @param issuer the instance's address
 */
export function consoleCookie(issuer: string) {
  const isHttps = issuer.startsWith('https:')
  const prefix = isHttps ? '__Host-attribution-' : `attribution-${/\d*$/.exec(issuer)?.[0]}-`
  const attributes = `; Path=/; HttpOnly; SameSite=Strict${isHttps ? '; Secure' : ''}`
  const all = (header: string): readonly Cookie[] =>
    header
      .split(';')
      .map((pair) => /^ *([^=]*)=(.*)$/.exec(pair))
      .filter((pair) => pair?.[1]?.startsWith(prefix))
      .map((pair) => ({ name: pair?.[1] ?? '', token: pair?.[2] ?? '' }))
  return {
    /** Keeps a session, until a week without a request. @param clientId of the console at the tenant */
    write: (clientId: string, token: string): string =>
      `${prefix}${clientId}=${token}${attributes}; Max-Age=${SESSION_IDLE_S_MAX}`,
    remove: (name: string): string => `${name}=${attributes}; Max-Age=0`,
    /** @returns undefined also for two of one name: one of them is not ours */
    read(header: string, clientId: string): string | undefined {
      const [found, ...more] = all(header).filter(({ name }) => name === prefix + clientId)
      return more.length > 0 ? undefined : found?.token
    },
    all,
  }
}

export interface Cookie {
  readonly name: string
  readonly token: string
}
