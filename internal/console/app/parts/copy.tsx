import { useState } from 'preact/hooks'

interface CopyProps {
  readonly text: string
  readonly label?: string
}

export function Copy({ text, label = 'Copy' }: CopyProps) {
  const [isCopied, setCopied] = useState(false)
  const copy = async (): Promise<void> => {
    await navigator.clipboard.writeText(text)
    setCopied(true)
  }
  return (
    <button type="button" onClick={() => void copy()}>
      {isCopied ? 'Copied' : label}
    </button>
  )
}
