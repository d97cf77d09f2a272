import { FORM_LIFE_S } from './sign-in-form.js'

/**
 * The cookie that ties a form to a browser. Browsers keep a `__Host-` cookie for this host alone, and only over https.
 */
export function signInCookie(isHttps: boolean) {
  const name = isHttps ? '__Host-sign-in' : 'attribution-sign-in'
  const attributes = `; Path=/; Max-Age=${FORM_LIFE_S}; HttpOnly; SameSite=Lax${isHttps ? '; Secure' : ''}`
  return {
    write: (browser: string): string => `${name}=${browser}${attributes}`,
    read: (header: string): string | undefined =>
      header
        .split(';')
        .map((pair) => pair.trim().split('='))
        .find(([key, value]) => key === name && /^[A-Za-z0-9_-]{22}$/.test(value ?? ''))?.[1],
  }
}
