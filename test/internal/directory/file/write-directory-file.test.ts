import fc from 'fast-check'
import { expect, test } from 'vitest'
import { readCsvFile } from '../../../../internal/directory/file/read-directory-file.js'
import { type AllEntries, csvFile, statedFields } from '../../../../internal/directory/file/write-directory-file.js'
import { CsvReader } from '../../../../internal/text/csv.js'
import { formulaLike } from '../../text/formula-like.js'

const pause = async (): Promise<void> => undefined
/** Neither blank nor with blanks around it, as names are; a list's separator and bracket have their own form. */
const name = formulaLike.map((text) => `${text.replaceAll(/[\r\n]/g, '').trim()}x`)

test('a CSV of names that look like formulas is read as it was written, and no cell of it is a formula', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(name, { minLength: 1, maxLength: 4 }), name, async (names, owner) => {
      const services = names.map((each) => ({ name: each, owner, aliases: names }))
      const entries = { services, identities: [], principals: [], sources: [] } as unknown as AllEntries

      const csv = await csvFile(entries, pause)
      const read = await readCsvFile(Buffer.from(csv), pause)

      expect(read).toMatchObject({ ok: true, bad: [] })
      const fields = read.ok ? read.rows.map((row) => row.fields) : []
      expect(fields).toEqual(entries.services.map((entry) => statedFields('services', entry)))
      const cells = [...new CsvReader().read(csv)].flatMap((record) => record.fields)
      expect(cells.filter((cell = '') => /^[\p{Z}\p{Cc}\p{Cf}]*[=+\-@＝＋－＠]/u.test(cell))).toEqual([])
    }),
  )
})
