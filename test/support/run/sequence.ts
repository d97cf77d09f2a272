import { relative } from 'node:path'
import { BaseSequencer, type TestSpecification } from 'vitest/node'
import { PROJECTS, secondsOf } from './projects.js'

const ORDER: readonly string[] = PROJECTS

/**
 * One queue for all projects, project by project, since a worker runs the files of one project only, and ends when a
 * file of another project is next. The longest files of a project come first.
 */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rankOf = ({ project, moduleId }: TestSpecification) => {
      const file = relative(this.ctx.config.root, moduleId)
      return { group: ORDER.indexOf(project.name), seconds: secondsOf(file), file }
    }
    return files
      .map((spec) => ({ spec, ...rankOf(spec) }))
      .sort((a, b) => a.group - b.group || b.seconds - a.seconds || (a.file < b.file ? -1 : 1))
      .map(({ spec }) => spec)
  }
}
