/**
 * Where an authorization answer may go (RFC 9700 2.1 and 4.1.3): to a registered address, compared character by
 * character. Only the port of a loopback address may differ (RFC 8252 7.3), since a program on the person's machine
 * listens on any free port.
 */
export const REDIRECT_URI_LENGTH_MAX = 2_048
const LOOPBACK = ['127.0.0.1', '[::1]']
/**
 * A loopback address in its plain spelling, so that its port is found without a URL parser, which would normalize it.
 */
const LOOPBACK_URI = /^http:\/\/(127\.0\.0\.1|\[::1\])(?::([1-9]\d{0,4}))?(\/[\x21-\x7e]*)?$/

/** Whether an address may be registered: https, or http on loopback; no fragment, no user, visible ASCII only. */
export function isRedirectUri(text: string): boolean {
  if (
    text.length > REDIRECT_URI_LENGTH_MAX ||
    !/^[\x21-\x7e]+$/.test(text) ||
    /[#\\]/.test(text) ||
    !URL.canParse(text)
  )
    return false
  const { protocol, hostname, username, password } = new URL(text)
  if (username !== '' || password !== '') return false
  if (protocol === 'http:') return LOOPBACK.includes(hostname) && LOOPBACK_URI.test(text)
  return protocol === 'https:' && text.startsWith('https://')
}

/** A domain name of the app's maker in reverse, one slash, and no authority (RFC 8252 7.1). */
const PRIVATE_USE_URI = /^[a-z][a-z0-9-]*(?:\.[a-z0-9-]+)+:\/(?!\/)[\x21-\x7e]*$/

/** Whether an address has a scheme of a native app, which only a public client may register: it proves nothing. */
export const isPrivateUseUri = (text: string): boolean =>
  text.length <= REDIRECT_URI_LENGTH_MAX && PRIVATE_USE_URI.test(text) && !/[#\\]/.test(text)

/** The part of an address that may be shown and logged: its query may contain anything. */
export function originOf(uri: string): string {
  const { origin, protocol } = new URL(uri)
  return isPrivateUseUri(uri) ? protocol : origin
}

/** @param presented as in the request @param registered each accepted by `isRedirectUri` or `isPrivateUseUri` */
export const isRegistered = (presented: string, registered: readonly string[]): boolean =>
  (isRedirectUri(presented) || isPrivateUseUri(presented)) &&
  registered.some((uri) => uri === presented || (isLoopback(uri) && withoutPort(uri) === withoutPort(presented)))

const isLoopback = (uri: string): boolean => LOOPBACK_URI.test(uri)

function withoutPort(uri: string): string {
  const [, host, , rest] = LOOPBACK_URI.exec(uri) ?? []
  return host === undefined ? uri : `http://${host}${rest ?? ''}`
}
