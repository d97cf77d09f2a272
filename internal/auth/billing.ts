/**
 * Who pays for the calls that a credential sends, where the calls themselves do not say: a subscription or seat, which
 * no call makes dearer, or an account that is billed for each one.
 */
export const BILLINGS = ['auto', 'seat', 'api'] as const
export type Billing = (typeof BILLINGS)[number]

/** Of descriptions. */
export const BILLING_WORD =
  'who pays for the calls that arrive as OpenTelemetry and do not say it: `seat` (a subscription: they cost 0 and ' +
  'show what they would cost), `api` (each call is billed) or `auto` (what its sender is known for: coding agents on ' +
  'a subscription, all others billed)'
