/** Names of tenants by their ids: those at which this browser has signed in. */
export type KnownTenants = Readonly<Record<string, string>>

/**
 * The tenant that an address or a person means by its id or name (`Acme Corp.` or `acme-corp`). A tenant can change its
 * name, and two may have the same, so that a name stands for a tenant only where this browser knows it, and only one.
 *
 * @returns the text itself where it names none
 */
export function tenantMeant(text: string, known: KnownTenants): string {
  const meant = Object.keys(known).filter((id) => plain(known[id] ?? '') === plain(text))
  return Object.hasOwn(known, text) || meant.length !== 1 ? text : (meant[0] ?? text)
}

const plain = (name: string): string =>
  name
    .normalize('NFKC')
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]+/gu, '-')
    .replace(/^-|-$/g, '')
