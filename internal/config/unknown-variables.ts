import { nearestOf } from './nearest.js'
import { SETTINGS, shownVariable, TUNING_VARIABLE } from './settings.js'

/** Variables of the tests and benchmarks, which run the roles in their own environment, and secrets of commands. */
const NOT_OURS = /^ATTRIBUTION_(?:(?:RENEW|CONTRACT|EVAL|BENCH|TEST)_|API_KEY$|BACKUP_PASSPHRASE$)/

/** One line per variable that looks like a setting but is none. Not an error: platforms add variables of their own. */
export function unknownVariables(env: Readonly<Record<string, string | undefined>>): string[] {
  const settings = Object.values(SETTINGS)
  const known = [...settings.filter((each) => !('isTuning' in each)).map(({ variable }) => variable), TUNING_VARIABLE]
  return Object.keys(env)
    .filter((name) => name.startsWith('ATTRIBUTION_') && !known.includes(name) && !NOT_OURS.test(name))
    .map((name) => {
      const tuned = settings.find(({ variable }) => variable === name)
      const nearest = tuned === undefined ? nearestOf(name, known) : `${shownVariable(tuned).replace(' ', '=')}=…`
      const hint = nearest === undefined ? '' : `; did you mean ${nearest}?`
      return `unknown variable ${name.replace(/[^ -~]/g, '?')} is ignored${hint}`
    })
}
