/** What an answer changed, in words. */

type Members = Readonly<Record<string, unknown>> | null

interface AnswerShown {
  readonly what: string
  readonly name: string | null
  readonly before: Members
  readonly after: Members
}

/** "search is of team-search", "chekout is another name of checkout". */
export function answerWords({ what, name, before, after }: AnswerShown): string {
  const text = (members: Members, member: string): string => String(members?.[member] ?? 'nobody')
  switch (what) {
    case 'service':
      return serviceWords(name ?? '', before, after)
    case 'principal':
      if (after === null) return `The credential ${name} is of no service any more`
      return `The credential ${name} is of ${text(after, 'service')}`
    case 'pool':
      if (after === null) return `The pool ${name} is gone`
      return `The pool ${name} of ${text(after, 'owner')} ${before === null ? 'takes calls' : 'has changed'}`
    case 'mapping_rule':
      return name === null ? 'All mapping rules, applied to the past' : `The rule ${name}, applied to the past`
    case 'calls':
      return `Calls given to ${text(after, 'service')} of ${text(after, 'owner')}`
    case 'call':
      return `One call given to ${text(after, 'service')} of ${text(after, 'owner')}`
    case 'name':
      return `${name} is another name of ${text(after, 'name')}`
    case 'prices':
      return 'Calls without a price, priced'
    default:
      return 'All calls of a time, attributed again'
  }
}

function serviceWords(name: string, before: Members, after: Members): string {
  if (after === null) return `${name} is no service of the directory any more`
  if (before === null) return `${name} is a service of ${String(after['owner'])}`
  const [was, is] = [aliasesOf(before), aliasesOf(after)]
  const added = is.filter((alias) => !was.includes(alias))
  const removed = was.filter((alias) => !is.includes(alias))
  const parts = [
    ...(before['owner'] === after['owner'] ? [] : [`${name} goes from ${before['owner']} to ${after['owner']}`]),
    ...added.map((alias) => `${alias} is another name of ${name}`),
    ...removed.map((alias) => `${alias} is no other name of ${name} any more`),
  ]
  return parts.length === 0 ? `${name} is of ${String(after['owner'])}` : parts.join('; ')
}

const aliasesOf = (members: Members): readonly unknown[] => {
  const aliases = members?.['aliases']
  return Array.isArray(aliases) ? aliases : []
}
