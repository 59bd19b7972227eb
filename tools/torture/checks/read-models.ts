import type { Checked, Finding } from '../facts.ts'

/** The rows of one table as text, by their keys as text. */
export interface TableContent {
  /** `schema.table`. */
  readonly table: string
  readonly rows: ReadonlyMap<string, string>
}

/**
 * A read model that lived through the run equals one that is filled from the log at the end. Findings contain keys,
 * never values.
 */
export function checkReadModels(live: readonly TableContent[], rebuilt: readonly TableContent[]): Checked {
  const findings: Finding[] = []
  const names = new Set([...live, ...rebuilt].map(({ table }) => table))
  let examined = 0
  for (const table of names) {
    const [ours, theirs] = [live, rebuilt].map((contents) => contents.find((content) => content.table === table)?.rows)
    if (ours === undefined || theirs === undefined) {
      findings.push({ what: 'a table that only one of the two has', where: table })
      continue
    }
    examined += ours.size
    for (const [key, row] of ours) {
      const other = theirs.get(key)
      if (other === undefined) findings.push({ what: 'a row that a rebuild does not have', where: `${table} ${key}` })
      else if (other !== row)
        findings.push({ what: 'a row with other values than in a rebuild', where: `${table} ${key}` })
    }
    for (const key of theirs.keys())
      if (!ours.has(key)) findings.push({ what: 'a row that only a rebuild has', where: `${table} ${key}` })
  }
  return { check: `read models equal to a rebuild (${names.size} tables)`, examined, findings }
}
