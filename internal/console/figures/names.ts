/** Names as a person lists them in one line, with commas or semicolons between them. */
export const namesOf = (text: string): readonly string[] => [
  ...new Set(
    text
      .split(/[,;]/)
      .map((name) => name.trim())
      .filter((name) => name !== ''),
  ),
]
