/** Result of a check of `coind doctor`. */
export interface Finding {
  /** `problem`: the node does not start, or does not do its work */
  readonly state: 'ok' | 'warning' | 'problem'
  /** what was found, and what to do unless that is good */
  readonly text: string
}

export const ok = (text: string): Finding => ({ state: 'ok', text })
export const warning = (text: string): Finding => ({ state: 'warning', text })
export const problem = (text: string): Finding => ({ state: 'problem', text })
