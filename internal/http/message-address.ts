import type { IncomingMessage } from 'node:http'
import { type ClientAddressOf, plainAddress } from '../auth/addresses.js'

/** The address of the client of a listener beside the API. */
export const addressOfMessage = (
  {
    socket,
    headersDistinct,
  }: Pick<IncomingMessage, 'headersDistinct'> & { readonly socket: { readonly remoteAddress?: string | undefined } },
  clientAddressOf: ClientAddressOf,
): string =>
  clientAddressOf(plainAddress(socket.remoteAddress ?? ''), (headersDistinct['x-forwarded-for'] ?? []).join())
