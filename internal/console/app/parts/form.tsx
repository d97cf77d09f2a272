import type { ComponentChildren } from 'preact'
import { useRef, useState } from 'preact/hooks'
import { messageOf } from './change.js'

interface FormProps {
  /** What the button does: "Add the price". */
  readonly verb: string
  /** What went wrong is shown, and what was typed stays. */
  readonly send: (fields: FormData) => Promise<void>
  /** With it, there is a button that leaves everything as it is. */
  readonly onLeave?: () => void
  /** One of several things that can be done: its button does not stand out. */
  readonly isOneOfSeveral?: boolean
  readonly isDisabled?: boolean
  /** Another thing that can be done with what was typed, such as to try it. */
  readonly second?: { readonly verb: string; readonly send: (fields: FormData) => Promise<void> }
  readonly children?: ComponentChildren
}

/** Fields, and the button that sends them. */
export function Form(props: FormProps) {
  const { verb, send, onLeave, isOneOfSeveral = false, isDisabled = false, second, children } = props
  const [problem, setProblem] = useState('')
  const [isSending, setSending] = useState(false)
  const form = useRef<HTMLFormElement>(null)
  const submit = async (event: Event, how = send): Promise<void> => {
    event.preventDefault()
    if (form.current === null || isSending || !form.current.reportValidity()) return
    setSending(true)
    setProblem('')
    try {
      await how(new FormData(form.current))
    } catch (cause) {
      setProblem(messageOf(cause))
    } finally {
      setSending(false)
    }
  }
  return (
    <form ref={form} class="fields" onSubmit={(event) => void submit(event)}>
      {children}
      {problem !== '' && <p role="alert">{problem}</p>}
      <p class="actions">
        <button type="submit" class={isOneOfSeveral ? undefined : 'primary'} disabled={isSending || isDisabled}>
          {verb}
        </button>
        {second !== undefined && (
          <button type="button" disabled={isSending || isDisabled} onClick={(event) => void submit(event, second.send)}>
            {second.verb}
          </button>
        )}
        {onLeave !== undefined && (
          <button type="button" onClick={onLeave}>
            Cancel
          </button>
        )}
      </p>
    </form>
  )
}

/** A field's text; undefined for an empty one. */
export function textOf(fields: FormData, name: string): string | undefined {
  const value = fields.get(name)
  return typeof value === 'string' && value.trim() !== '' ? value.trim() : undefined
}

/** The values of the boxes of a name that are checked. */
export const checkedOf = (fields: FormData, name: string): readonly string[] => fields.getAll(name).map(String)
