/**
 * How subject tokens and KV keys are built. User-supplied text is always escaped: a dot or a wildcard in it would
 * change the subject.
 */

/** Base64url without padding is a safe token: it contains no dot, asterisk, angle bracket or white space. */
export const escapeToken = (userText: string): string => Buffer.from(userText, 'utf8').toString('base64url')

export const unescapeToken = (token: string): string => Buffer.from(token, 'base64url').toString('utf8')

/** Asks all readers of logs to pause; not in any stream. */
export const PAUSE = 'attribution.pause'
