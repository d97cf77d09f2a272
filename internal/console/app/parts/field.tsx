import type { ComponentChildren } from 'preact'

interface FieldProps {
  readonly label: string
  readonly name: string
  readonly hint?: ComponentChildren
}

interface TextFieldProps extends FieldProps {
  readonly type?: 'text' | 'date' | 'datetime-local' | 'password'
  /** At first. */
  readonly defaultValue?: string | undefined
  readonly required?: boolean
  readonly placeholder?: string
  readonly pattern?: string
  readonly minLength?: number
  readonly maxLength?: number
  readonly inputMode?: 'decimal' | 'numeric'
  /** Id of a datalist. */
  readonly list?: string
}

/** One line of text with its label. */
export const Field = ({ label, hint, maxLength = 256, ...input }: TextFieldProps) => (
  <label>
    <span>
      {label} {hint !== undefined && <span class="muted">{hint}</span>}
    </span>
    {/* The types know no list of a field whose type varies. */}
    <input maxLength={maxLength} {...(input as object)} />
  </label>
)

interface CheckProps extends FieldProps {
  readonly defaultChecked?: boolean
  readonly value?: string
}

export const Check = ({ label, hint, ...input }: CheckProps) => (
  <label class="check">
    <input type="checkbox" {...input} />
    <span>
      {label} {hint !== undefined && <span class="muted">{hint}</span>}
    </span>
  </label>
)

interface ChoiceProps extends FieldProps {
  readonly defaultValue?: string | undefined
  /** Words by value. */
  readonly choices: Readonly<Record<string, string>>
}

export const Choice = ({ label, hint, name, defaultValue, choices }: ChoiceProps) => (
  <label>
    <span>
      {label} {hint !== undefined && <span class="muted">{hint}</span>}
    </span>
    <select name={name}>
      {Object.entries(choices).map(([value, words]) => (
        <option key={value} value={value} selected={value === defaultValue}>
          {words}
        </option>
      ))}
    </select>
  </label>
)
