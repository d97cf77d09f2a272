import { isIPv6 } from 'node:net'

/** Where whoever listens is reached, without a slash at the end. */
export const listeningUrl = (host: string, port: number, isTls: boolean): string =>
  // RFC 3986 section 3.2.2: the colons of an IPv6 address would else be taken for the port's.
  `${isTls ? 'https' : 'http'}://${isIPv6(host) ? `[${host}]` : host}:${port}`
