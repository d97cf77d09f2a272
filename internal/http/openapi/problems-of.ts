import type { ErrorCode } from '../../problems/problem-catalogue.js'
import { PAGE_PARAMETERS } from '../contract/page.js'
import { type Route, takesNoQuery } from '../route.js'

/** Problems of any request: malformed headers, a service that is starting or failing. */
const OF_ALL: readonly ErrorCode[] = ['MALFORMED_REQUEST', 'LENGTH_REQUIRED', 'INTERNAL_ERROR', 'SERVICE_UNAVAILABLE']
const OF_A_CREDENTIAL: readonly ErrorCode[] = ['INVALID_CREDENTIALS', 'EXPIRED', 'INSUFFICIENT_SCOPE', 'RATE_LIMITED']
const OF_A_BODY: readonly ErrorCode[] = ['PAYLOAD_TOO_LARGE', 'UNSUPPORTED_MEDIA_TYPE', 'VALIDATION_FAILED']
const OF_A_KEY: readonly ErrorCode[] = ['IDEMPOTENCY_KEY_REQUIRED', 'IDEMPOTENCY_CONFLICT']

/**
 * Whether an Idempotency-Key is required. OAuth clients, which authenticate in the body, send none; a PUT states the
 * whole result, so that repeating it changes nothing.
 */
export const needsKey = (route: Route): boolean =>
  route.method !== 'get' && route.method !== 'put' && route.access !== 'public' && route.takesNoKey !== true

/** Every problem that a route may reply: those that follow from its declaration, and those it lists itself. */
export function problemsOf(route: Route): ReadonlySet<ErrorCode> {
  const { operation } = route
  const codes = new Set<ErrorCode>([...OF_ALL, ...(operation.problems ?? [])])
  const add = (more: readonly ErrorCode[]): void => {
    for (const code of more) codes.add(code)
  }
  if (operation.parameters !== undefined) add(['NOT_FOUND'])
  if (route.access === 'public') return codes
  add(OF_A_CREDENTIAL)
  if (operation.parameters !== undefined) add(['TENANT_MISMATCH'])
  if (operation.query !== undefined || takesNoQuery(route)) add(['INVALID_FILTER'])
  if (isCollection(route)) add(['INVALID_CURSOR', 'TENANT_MISMATCH'])
  if (operation.body !== undefined) add(OF_A_BODY)
  if (needsKey(route)) add(OF_A_KEY)
  // A mutation without a body refuses the members of one.
  if (needsKey(route) && route.isIngestion !== true) {
    add(['IDEMPOTENCY_IN_PROGRESS', 'PAYLOAD_TOO_LARGE', 'VALIDATION_FAILED'])
  }
  if (route.needsStepUp === true) add(['STEP_UP_REQUIRED'])
  return codes
}

const isCollection = ({ operation }: Route): boolean => operation.query?.['cursor'] === PAGE_PARAMETERS.cursor
