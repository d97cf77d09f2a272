const AUDIENCE = 'urn:attribution:sandbox'

/** Whether an access token (a JWT) is for a sandbox: those of production have another audience. */
export function isForSandbox(accessToken: string): boolean {
  try {
    const payload = accessToken.split('.')[1] ?? ''
    return JSON.parse(atob(payload.replaceAll('-', '+').replaceAll('_', '/'))).aud === AUDIENCE
  } catch {
    return false
  }
}
