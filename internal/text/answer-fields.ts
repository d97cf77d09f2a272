import { z } from 'zod'
import type { IdPrefix } from '../ids/ids.js'

/** What answers are made of. Requests have their own, stricter vocabulary: `text/plain-text.ts`. */

const EXAMPLE_BITS = '7v3k9q2m4x8n5c1r6t0w3y9zb0'

export const exampleId = (prefix: IdPrefix): string => `${prefix}_${EXAMPLE_BITS}`

/** An identifier; opaque except for its prefix. */
export const idOf = (prefix: IdPrefix) =>
  z
    .string()
    .regex(new RegExp(`^${prefix}_[0-9a-z]+$`), `must be an id that begins with ${prefix}_`)
    .meta({ examples: [exampleId(prefix)] })

/** An id in a path, as any text: a malformed id is a 404. */
export const idInPath = (prefix: IdPrefix, description: string) =>
  z.string().meta({ description, examples: [exampleId(prefix)] })

/** Money, energy, carbon: exact, as text. */
export const decimalText = () => z.string().regex(/^-?\d+(\.\d+)?$/)

/** RFC 3339, UTC. */
export const timeText = () => z.string().meta({ instant: true })

export const count = () => z.int().min(0)
