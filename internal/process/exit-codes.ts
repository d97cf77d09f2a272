/** Of a process that did not become ready, and asks to be started again at once: EX_TEMPFAIL of sysexits(3). */
export const START_AGAIN = 75
