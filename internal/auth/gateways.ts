/** What the flag `is_gateway` of an API key or client means, for descriptions. */
export const GATEWAYS_WORD =
  'whose word on who called counts on the intake port and for mapping rules; else it is a claim'
