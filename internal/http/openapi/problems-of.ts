import type { ErrorCode } from '../../problems/catalogue.js'
import { PAGE_PARAMETERS } from '../contract/page.js'
import { type Route, takesNoQuery } from '../route.js'

/** What any request may meet, whoever sends it: a head that cannot be read, a service that starts or fails. */
const OF_ALL: readonly ErrorCode[] = ['MALFORMED_REQUEST', 'LENGTH_REQUIRED', 'INTERNAL_ERROR', 'SERVICE_UNAVAILABLE']
const OF_A_CREDENTIAL: readonly ErrorCode[] = ['INVALID_CREDENTIALS', 'EXPIRED', 'INSUFFICIENT_SCOPE', 'RATE_LIMITED']
const OF_A_BODY: readonly ErrorCode[] = ['PAYLOAD_TOO_LARGE', 'UNSUPPORTED_MEDIA_TYPE', 'VALIDATION_FAILED']
const OF_A_KEY: readonly ErrorCode[] = ['IDEMPOTENCY_KEY_REQUIRED', 'IDEMPOTENCY_CONFLICT']

/** Whether callers must send an Idempotency-Key. Those who authenticate in the body are clients that have none (OAuth). */
export const needsKey = ({ method, access }: Route): boolean => method !== 'get' && access !== 'public'

/** Every problem that a route may answer with: what follows from its declaration, and what it names itself. */
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
  if (needsKey(route) && route.isIngestion !== true) add(['IDEMPOTENCY_IN_PROGRESS', 'PAYLOAD_TOO_LARGE'])
  if (route.needsStepUp === true) add(['STEP_UP_REQUIRED'])
  return codes
}

const isCollection = ({ operation }: Route): boolean => operation.query?.['cursor'] === PAGE_PARAMETERS.cursor
