/**
 * What the roles get of the environment in which all of them were started, besides the settings: by name, since an
 * environment may hold secrets that are nothing to them.
 */
type Variables = Readonly<Record<string, string | undefined>>

/** Certificate authorities that Node trusts besides its own: of a broker, a store or a bucket with a private one. */
const EVERY_ROLE = ['PATH', 'NODE_EXTRA_CA_CERTS']

/** Of every role. */
export const inherited = (from: Variables): Record<string, string> => picked(from, (name) => EVERY_ROLE.includes(name))

/** Of roles that read or write objects in S3, besides: where its library finds credentials (variables, or a profile below HOME). */
export const inheritedForS3 = (from: Variables): Record<string, string> =>
  picked(from, (name) => name === 'HOME' || name.startsWith('AWS_'))

function picked(from: Variables, isWanted: (name: string) => boolean): Record<string, string> {
  const variables: Record<string, string> = {}
  for (const [name, value] of Object.entries(from)) if (value !== undefined && isWanted(name)) variables[name] = value
  return variables
}
