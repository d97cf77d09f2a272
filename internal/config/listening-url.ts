import { isIPv6 } from 'node:net'

/** The URL of a listening server, without a trailing slash. */
export const listeningUrl = (host: string, port: number, isTls: boolean): string =>
  // RFC 3986 section 3.2.2: an IPv6 address is in brackets, which sets its colons apart from the port's.
  `${isTls ? 'https' : 'http'}://${isIPv6(host) ? `[${host}]` : host}:${port}`
