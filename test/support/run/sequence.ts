import { relative } from 'node:path'
import { BaseSequencer, type TestSpecification } from 'vitest/node'
import { PROJECTS, secondsOf } from './projects.js'

/**
 * One queue for all projects. Files that are isolated come first, longest first; then project by project, since a worker
 * without isolation runs the files of one project only, and ends when a file of another project is next.
 */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rankOf = ({ project, moduleId }: TestSpecification) => {
      const at = PROJECTS.findIndex(({ name }) => name === project.name)
      const file = relative(this.ctx.config.root, moduleId)
      return { group: PROJECTS[at]?.isolate === false ? at : 0, seconds: secondsOf(file), file }
    }
    return files
      .map((spec) => ({ spec, ...rankOf(spec) }))
      .sort((a, b) => a.group - b.group || b.seconds - a.seconds || (a.file < b.file ? -1 : 1))
      .map(({ spec }) => spec)
  }
}
