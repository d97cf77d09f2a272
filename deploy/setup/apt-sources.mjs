/** Where this machine's apt gets its packages from, in both forms that apt reads. */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/**
 * @typedef {object} AptSource
 * @property {string} uri
 * @property {readonly string[]} suites
 * @property {string | undefined} signedBy a file with the keys, or the keys themselves; undefined: apt's own
 */

/**
 * @param {string} text of a `.sources` file: stanzas separated by empty lines
 * @returns {AptSource[]} one for each address of packages that is not switched off
 */
export function parseStanzas(text) {
  return text.split(/\n[ \t]*\n/).flatMap((stanza) => {
    const fields = fieldsOf(stanza)
    if (!wordsOf(fields.get('types')).includes('deb') || fields.get('enabled')?.toLowerCase() === 'no') return []
    const suites = wordsOf(fields.get('suites'))
    return wordsOf(fields.get('uris')).map((uri) => ({ uri, suites, signedBy: fields.get('signed-by') }))
  })
}

/**
 * @param {string} text of a `.list` file: a line for each source, options in brackets
 * @returns {AptSource[]}
 */
export function parseLines(text) {
  return text.split('\n').flatMap((line) => {
    const found = /^\s*deb\s+(?:\[([^\]]*)\]\s+)?(\S+)\s+(\S+)/.exec(line)
    if (found === null) return []
    const [, options, uri, suite] = found
    const signedBy = /(?:^|\s)signed-by=(\S+)/i.exec(options ?? '')?.[1]
    return [{ uri, suites: [suite], signedBy }]
  })
}

/** @returns {AptSource[]} all of this machine's */
export function machineSources(folder = '/etc/apt') {
  const parts = join(folder, 'sources.list.d')
  const names = existsSync(parts) ? readdirSync(parts).sort() : []
  const files = [join(folder, 'sources.list'), ...names.map((name) => join(parts, name))]
  return files.flatMap((file) => {
    if (!existsSync(file)) return []
    if (file.endsWith('.sources')) return parseStanzas(readFileSync(file, 'utf8'))
    return file.endsWith('.list') ? parseLines(readFileSync(file, 'utf8')) : []
  })
}

/**
 * @param {string} stanza
 * @returns {Map<string, string>} by lower-case name; continued lines keep their line breaks, as a key needs them
 */
function fieldsOf(stanza) {
  const fields = new Map()
  let last = ''
  for (const line of stanza.split('\n')) {
    const field = /^([A-Za-z-]+):[ \t]*(.*)$/.exec(line)
    if (field !== null) {
      last = field[1].toLowerCase()
      fields.set(last, field[2].trimEnd())
    } else if (/^[ \t]/.test(line) && last !== '') {
      fields.set(last, `${fields.get(last)}\n${line}`)
    }
  }
  return fields
}

const wordsOf = (/** @type {string | undefined} */ text) => (text ?? '').split(/\s+/).filter((word) => word !== '')
