import { isIP } from 'node:net'

/** Where a webhook goes to, out of an address that passed. */
export interface Target {
  /** Canonical; what is stored, shown and called. */
  readonly href: string
  /** `https://name:port`. */
  readonly origin: string
  /** A name in lower case without a dot at its end, or an address without brackets. */
  readonly hostname: string
  readonly port: number
  /** Path and query. */
  readonly path: string
}

export interface TargetRules {
  /** Ports that may be called. */
  readonly ports: readonly number[]
  /** Whether names that stand for no public host may be tried: only where networks besides the public ones are allowed. */
  readonly takesPrivateNames: boolean
  /** Names of this service itself. */
  readonly ownHosts: readonly string[]
}

/** Why an address is refused, in words for its owner. */
export type TargetRefusal = string

const URL_CHARACTERS_MAX = 2_048
const NAME_CHARACTERS_MAX = 253
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
 * Reads the address of a webhook endpoint: the part of the SSRF rules that needs no resolver.
 *
 * The WHATWG parser folds every spelling of a host (octal, hexadecimal, short and full-width IPv4, percent-encoding,
 * international names) into one, so that what is judged is the parsed host, never the text.
 */
export function readTarget(text: string, rules: TargetRules): Target | TargetRefusal {
  if (text.length > URL_CHARACTERS_MAX) return `has more than ${URL_CHARACTERS_MAX} characters`
  // The parser drops tabs and line feeds, trims spaces and turns backslashes: what it repairs was not meant for it.
  if (!/^[\x21-\x5b\x5d-\x7e]+$/.test(text)) return 'holds characters that do not belong into an address'
  if (!/^https:\/\/[^/]/i.test(text)) return 'does not begin with https://'
  if (!URL.canParse(text)) return 'is not an address'
  const url = new URL(text)
  if (url.username !== '' || url.password !== '' || /^https:\/\/[^/?#]*@/i.test(text)) return 'holds a user name'
  const port = url.port === '' ? 443 : Number(url.port)
  if (!rules.ports.includes(port)) return `names a port other than ${rules.ports.join(', ')}`

  const literal = url.hostname.replace(/^\[(.*)\]$/, '$1')
  const isLiteral = isIP(literal) !== 0
  const hostname = isLiteral ? literal : url.hostname.replace(/\.$/, '')
  const refusal = isLiteral ? undefined : refusalOfName(hostname, rules)
  if (refusal !== undefined) return refusal
  if (!isLiteral) url.hostname = hostname
  url.hash = ''
  return { href: url.href, origin: url.origin, hostname, port, path: `${url.pathname}${url.search}` }
}

function refusalOfName(name: string, { takesPrivateNames, ownHosts }: TargetRules): TargetRefusal | undefined {
  const labels = name.split('.')
  if (name.length > NAME_CHARACTERS_MAX || !labels.every((label) => LABEL.test(label))) return 'names no valid host'
  if (ownHosts.includes(name)) return 'leads back to this service'
  // A name whose last label is a number is an address that somebody misspelt (WHATWG URL, ends-in-a-number).
  if (/^(?:\d+|0x[0-9a-f]*)$/.test(labels.at(-1) ?? '')) return 'names no valid host'
  const isPrivate = labels.length < 2 || PRIVATE_SUFFIXES.some((end) => name === end || name.endsWith(`.${end}`))
  return isPrivate && !takesPrivateNames ? 'names no public host' : undefined
}
