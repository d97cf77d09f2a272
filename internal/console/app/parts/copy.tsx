import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'

interface CopyProps {
  readonly text: string
  readonly label?: string
}

export function Copy({ text, label = 'Copy' }: CopyProps) {
  const [isCopied, setCopied] = useState(false)
  return (
    <button type="button" onClick={() => void copied(text).then(() => setCopied(true))}>
      {isCopied ? 'Copied' : label}
    </button>
  )
}

interface CopiesProps {
  /** Copied whole. */
  readonly text: string
  readonly children?: ComponentChildren
}

/** What is used outside the console (an id, a path, a command): a click copies it, and says so until it is left. */
export function Copies({ text, children = text }: CopiesProps) {
  const [isCopied, setCopied] = useState(false)
  return (
    <button
      type="button"
      class={isCopied ? 'id quiet copied' : 'id quiet'}
      title={`Copy ${text}`}
      onClick={() => void copied(text).then(() => setCopied(true))}
      onBlur={() => setCopied(false)}
    >
      {children}
    </button>
  )
}

const copied = (text: string): Promise<void> => navigator.clipboard.writeText(text)
