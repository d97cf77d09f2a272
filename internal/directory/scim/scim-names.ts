/** Names of attributes: they have no case, and may carry the URN of their schema (RFC 7644 section 3.10). */

const CORE = /^urn:ietf:params:scim:schemas:core:2\.0:(?:user|group):/

/** In lower case, without the URN of a core schema. */
export const attributeIn = (name: string): string => name.trim().toLowerCase().replace(CORE, '')

export type Members = Readonly<Record<string, unknown>>

export const isObject = (value: unknown): value is Members =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** An object's members by the names of their attributes. */
export const byAttribute = (value: Members): Members =>
  Object.fromEntries(Object.entries(value).map(([name, member]) => [attributeIn(name), member]))
