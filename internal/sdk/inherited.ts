type Members<T> = Readonly<Record<PropertyKey, PropertyDescriptor & ThisType<T>>>

interface Kind {
  readonly prototype: object
  readonly key: symbol
}

/**
 * Lets objects inherit members that know a state of each object.
 *
 * With closures of its own as members, an object has a hidden class of its own, too, which keeps all that they hold
 * until the old space is collected.
 *
 * @param membersOf the members in front of those of a prototype; `stateOf` finds the state of an object
 */
export function inheriting<T extends object, S>(membersOf: (original: T, stateOf: (object: T) => S) => Members<T>) {
  const kinds = new WeakMap<object, Kind>()
  const kindOf = (original: T): Kind => {
    const known = kinds.get(original)
    if (known !== undefined) return known
    const key = Symbol('observed')
    const members = membersOf(original, (object) => (object as Record<symbol, S>)[key] as S)
    const kind: Kind = { prototype: Object.create(original, members), key }
    kinds.set(original, kind)
    return kind
  }
  return (object: T, state: S, original: T = Object.getPrototypeOf(object)): T => {
    const { prototype, key } = kindOf(original)
    Object.defineProperty(object, key, { value: state })
    return Object.setPrototypeOf(object, prototype)
  }
}

export const method = (value: unknown): PropertyDescriptor => ({
  configurable: true,
  enumerable: true,
  writable: true,
  value,
})
