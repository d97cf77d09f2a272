/** A line that a role has for the terminal of its supervisor. */
export interface Notice {
  readonly notice: string
}

/** Nobody reads it when the role was started by itself; its log has the same. */
export function notifySupervisor(notice: string): void {
  const message: Notice = { notice }
  // With a callback, a supervisor that has just ended is no error of the role.
  process.send?.(message, undefined, undefined, () => undefined)
}

/** @returns undefined when the message is none */
export const noticeIn = (message: unknown): string | undefined => {
  const { notice } = (message ?? {}) as Partial<Notice>
  return typeof notice === 'string' ? notice : undefined
}
