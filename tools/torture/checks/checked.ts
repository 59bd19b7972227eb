/** Something that must never be: what, and where to look. Ids, places and counts only. */
export interface Finding {
  readonly what: string
  readonly where: string
}

/** What one check looked at, and what it found wrong. */
export interface Checked {
  readonly check: string
  /** How many things it looked at: a check of nothing proves nothing. */
  readonly examined: number
  readonly findings: readonly Finding[]
}

/** How many findings a report names; it counts them all. */
export const namedFindings = 10
