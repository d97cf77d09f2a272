import type { IncomingMessage } from 'node:http'
import { type ClientAddressOf, plainAddress } from '../auth/addresses.js'

/** The address of the client of a listener beside the API. */
export const addressOfMessage = (
  { socket, headersDistinct }: IncomingMessage,
  clientAddressOf: ClientAddressOf,
): string =>
  clientAddressOf(plainAddress(socket.remoteAddress ?? ''), (headersDistinct['x-forwarded-for'] ?? []).join())
