import { COHORT_MIN } from '../auth/tenant.js'
import { isSmall, type People } from './people.js'

/** Counts distinct people up to five, to find out whether a group has one to four of them. */
export class SmallCohort {
  private readonly met: number[] = []

  get isMany(): boolean {
    return this.met.length >= COHORT_MIN
  }

  /** @returns whether five have been met */
  add(people: People): boolean {
    for (const person of people) {
      if (this.isMany) break
      if (!this.met.includes(person)) this.met.push(person)
    }
    return this.isMany
  }

  isSmall(): boolean {
    return isSmall(this.met)
  }
}
