/** A request that is not what its content type says. Thrown by the readers, caught once by `readRequest`. */
export class MalformedRequest extends Error {
  override readonly name = 'MalformedRequest'
}
