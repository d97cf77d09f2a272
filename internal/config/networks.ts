import { isIP, isIPv4, isIPv6 } from 'node:net'

/** Networks and DNS resolvers in settings. */

/** @returns undefined when the text is not a network in CIDR notation */
export function parseNetwork(text: string): { readonly address: string; readonly bits: number } | undefined {
  const [address = '', bitsText = '', ...rest] = text.split('/')
  const bits = Number(bitsText)
  const bitsMax = isIPv4(address) ? 32 : isIPv6(address) && !address.includes('%') ? 128 : -1
  if (rest.length > 0 || !/^\d{1,3}$/.test(bitsText) || bits > bitsMax) return undefined
  return { address, bits }
}

/** Parses a comma-separated list of networks. @throws Error whose message describes the format */
export function parseNetworks(text: string): readonly string[] {
  const parts = text.split(',').map((part) => part.trim())
  if (!parts.every((part) => parseNetwork(part) !== undefined)) {
    throw new Error('a comma-separated list of networks in CIDR notation')
  }
  return parts
}

/** Parses a comma-separated list of resolvers, `address[:port]`. @throws Error whose message describes the format */
export function parseResolvers(text: string): readonly string[] {
  const parts = text.split(',').map((part) => part.trim())
  const isResolver = (part: string): boolean =>
    isIP(part) !== 0 || isIP(part.replace(/:\d{1,5}$/, '')) === 4 || /^\[[0-9a-f:]+\]:\d{1,5}$/i.test(part)
  if (!parts.every(isResolver))
    throw new Error('a comma-separated list of resolvers, each an address with or without a port')
  return parts
}
