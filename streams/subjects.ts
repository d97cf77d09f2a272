/**
 * How subject tokens and KV keys are built. Text that a user chose never becomes a token raw: a dot or a
 * wildcard in it would change which subject it is.
 */

/** Base64url without padding is a safe token: it holds no dot, star, angle bracket or white space. */
export const escapeToken = (userText: string): string => Buffer.from(userText, 'utf8').toString('base64url')

export const unescapeToken = (token: string): string => Buffer.from(token, 'base64url').toString('utf8')
