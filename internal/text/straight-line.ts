/**
 * Builds a function from source text, once, when a module loads. A loop over a list of fields reads properties by
 * changing names, which V8 cannot optimise; the same list written out as one property access per field, it can. For hot
 * paths only.
 *
 * @param parameters names of the function's parameters
 * @param body statements of the function; only constants of the program may go into it, never input
 * @param scope values that the body names
 */
export function straightLine<F>(
  parameters: readonly string[],
  body: string,
  scope: Readonly<Record<string, unknown>> = {},
): F {
  const source = `"use strict"; return (${parameters.join(', ')}) => {\n${body}\n}`
  return new Function(...Object.keys(scope), source)(...Object.values(scope)) as F
}

/** Source text of an object with these members, in this order. */
export const objectText = (members: readonly (readonly [name: string, value: string])[]): string =>
  `{\n${members.map(([name, value]) => `  ${name}: ${value}`).join(',\n')}\n}`

/** A snake_case name in camelCase. */
export type CamelCase<Name extends string> = Name extends `${infer Head}_${infer Tail}`
  ? `${Head}${Capitalize<CamelCase<Tail>>}`
  : Name
export const camelCase = <Name extends string>(name: Name): CamelCase<Name> =>
  name.replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase()) as CamelCase<Name>
