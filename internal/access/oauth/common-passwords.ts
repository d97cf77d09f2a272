import { createHash } from 'node:crypto'
import list from './common-passwords.data.json' with { type: 'json' }

/**
 * The common passwords that are long enough to be chosen here, as OWASP ASVS 6.2.4 asks. The file names its source and
 * date; it has digests, so that nobody reads what other people once chose.
 */
const DIGESTS: ReadonlySet<string> = new Set(list.digests)
const DIGEST_CHARACTERS = 8

/** Whatever the case of its letters: capitals are the first thing that a guesser varies. */
export const isCommonPassword = (password: string): boolean =>
  DIGESTS.has(
    createHash('sha256')
      .update(password.normalize('NFC').toLowerCase())
      .digest('base64url')
      .slice(0, DIGEST_CHARACTERS),
  )
