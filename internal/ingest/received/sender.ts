import { isPlainText } from '../../text/plain-text.js'

/**
 * Who made what arrives, as far as it says: the instrumentation scope of a span, or the product behind a JSON intake,
 * and the service whose resource it is. Machines, never people.
 */
export interface Sender {
  /** '' where nothing tells. */
  readonly name: string
  readonly version: string
  readonly service: string
  /** The capture layer that its calls come from: the map of coverage counts by it. */
  readonly layer: string
}

const NAME_LENGTH_MAX = 96
const VERSION_LENGTH_MAX = 32
/** Some deployments are named after who owns them. */
const ADDRESS = /^[^\s@/]+@[^\s@/]+\.[a-z]{2,}$/i

/** A name from outside, as it may be shown: bounded, of one line, and no address of a person. */
function shownName(text: string, lengthMax: number): string {
  if (!isPlainText(text) || ADDRESS.test(text)) return ''
  return text.length > lengthMax ? text.slice(0, lengthMax) : text
}

/** The name of a sender as it may be shown. */
export const shownSender = (name: string): string => shownName(name, NAME_LENGTH_MAX)

export const senderOf = (name: string, version: string, service: string, layer: string): Sender => ({
  name: shownSender(name),
  version: shownName(version, VERSION_LENGTH_MAX),
  service: shownName(service, NAME_LENGTH_MAX),
  layer,
})

/** `litellm/1.108.7 (linux)`: the first product of a User-Agent. */
const PRODUCT = /^([A-Za-z][\w.+-]{0,63})(?:\/([\w.+-]{1,32}))?(?:[\s;(]|$)/

/** The sender of a request whose payloads do not name their program. */
export function senderByUserAgent(userAgent: string, layer: string): Sender {
  const [, name = '', version = ''] = PRODUCT.exec(userAgent) ?? []
  return { name, version, service: '', layer }
}

/** What sends to the API says nothing of itself. */
export const UNNAMED_SENDER: Sender = { name: '', version: '', service: '', layer: '' }

/** In place of the senders beyond those that are counted separately. */
export const OTHER_SENDERS = 'other'
