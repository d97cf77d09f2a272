import { isIP } from 'node:net'

/** A target that a tenant names (a webhook endpoint, an S3 endpoint), from a URL that passed the checks. */
export interface Target {
  /** The canonical URL; stored, returned and called. */
  readonly href: string
  /** `https://name:port`. */
  readonly origin: string
  /** A lower-case name without a trailing dot, or an address without brackets. */
  readonly hostname: string
  readonly port: number
  /** Path and query. */
  readonly path: string
}

export interface TargetRules {
  /** Allowed ports. */
  readonly ports: readonly number[]
  /** Whether private names may be used: only when the operator allows non-public networks. */
  readonly allowsPrivateNames: boolean
  /** Names of this service itself. */
  readonly ownHosts: readonly string[]
}

/** Why a URL is refused: the rest of a sentence that starts with "The URL". */
export type TargetRefusal = string

const URL_CHARACTERS_MAX = 2_048
const NAME_CHARACTERS_MAX = 253
const HOST_CHARACTERS = /^(?:[\x21-\x5b\x5d-\x7e]|[\p{L}\p{M}\p{Nd}])*$/u
const LABEL = /^[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?$/
/** Names that no public resolver should know (RFC 6761, 6762, 7686, 8375, and the clouds' metadata). */
const PRIVATE_SUFFIXES = [
  'localhost',
  'local',
  'internal',
  'home.arpa',
  'onion',
  'test',
  'invalid',
  'localdomain',
  'lan',
  'corp',
  'home',
  'intranet',
  'private',
]

/**
 * Parses the URL of a target and applies the SSRF rules that need no resolver.
 *
 * The WHATWG parser normalises every spelling of a host (octal, hexadecimal, short and full-width IPv4,
 * percent-encoding, international names), so that the checks apply to the parsed host and never to the text.
 */
export function readTarget(text: string, rules: TargetRules): Target | TargetRefusal {
  if (text.length > URL_CHARACTERS_MAX) return `has more than ${URL_CHARACTERS_MAX} characters`
  if (!/^https:\/\/[^/]/i.test(text)) return 'does not start with https://'
  // The parser drops tabs and line feeds, trims spaces and converts backslashes: refuse texts that it would have to
  // repair. Only a host may have other letters; the parser makes them A-labels (`xn--…`).
  const [, host = '', rest = ''] = /^https:\/\/([^/?#]*)(.*)$/is.exec(text) ?? []
  if (!HOST_CHARACTERS.test(host) || !/^[\x21-\x5b\x5d-\x7e]*$/.test(rest)) return 'contains invalid characters'
  if (!URL.canParse(text)) return 'is not valid'
  const url = new URL(text)
  if (url.username !== '' || url.password !== '' || /^https:\/\/[^/?#]*@/i.test(text))
    return 'contains user information'
  const port = url.port === '' ? 443 : Number(url.port)
  if (!rules.ports.includes(port)) return `has a port other than ${rules.ports.join(', ')}`

  const literal = url.hostname.replace(/^\[(.*)\]$/, '$1')
  const isLiteral = isIP(literal) !== 0
  // The parser reads it as octal, other programs as decimal: the author may have meant another address.
  if (isIP(literal) === 4 && /(^|\.)0\d/.test(host)) return 'has an address with leading zeros'
  const hostname = isLiteral ? literal : url.hostname.replace(/\.$/, '')
  const refusal = isLiteral ? undefined : refusalOfName(hostname, rules)
  if (refusal !== undefined) return refusal
  if (!isLiteral) url.hostname = hostname
  url.hash = ''
  return { href: url.href, origin: url.origin, hostname, port, path: `${url.pathname}${url.search}` }
}

function refusalOfName(name: string, { allowsPrivateNames, ownHosts }: TargetRules): TargetRefusal | undefined {
  const labels = name.split('.')
  if (name.length > NAME_CHARACTERS_MAX || !labels.every((label) => LABEL.test(label)))
    return 'has an invalid host name'
  if (ownHosts.includes(name)) return 'points to this service'
  // A name whose last label is a number is a malformed address (WHATWG URL, ends-in-a-number).
  if (/^(?:\d+|0x[0-9a-f]*)$/.test(labels.at(-1) ?? '')) return 'has an invalid host name'
  const isPrivate = labels.length < 2 || PRIVATE_SUFFIXES.some((end) => name === end || name.endsWith(`.${end}`))
  return isPrivate && !allowsPrivateNames ? 'does not have a public host name' : undefined
}
