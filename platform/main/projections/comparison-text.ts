import type { Comparison, Difference } from '../../../projections/rebuild/content.ts'
import type { Unable } from '../../../projections/rebuild/rebuild.ts'
import { formatPosition } from '../../../streams/store/positions.ts'

/** What was compared, in numbers: rows that serve, and the rows of the copy where they are not as many. */
export function sizeText({ tables }: Comparison): string {
  const rows = sum(tables.map((table) => table.rows))
  const copyRows = sum(tables.map((table) => table.copyRows))
  return rows === copyRows ? `${rows} rows` : `${rows} rows, ${copyRows} by the log`
}

/** The first row that differs, by its key; names of columns, never what is in them. */
export function differenceText(difference: Difference): string {
  switch (difference.kind) {
    case 'changed': return `table ${difference.table}, row ${keyText(difference.key)}: differs in ${difference.columns.join(', ')}`
    case 'missing': return `table ${difference.table}, row ${keyText(difference.key)}: is missing from what serves`
    case 'surplus': return `table ${difference.table}, row ${keyText(difference.key)}: is served, and the log does not say so`
    case 'shape': return `table ${difference.table}: ${difference.columns.join(', ') || 'the whole table'} is not the same in both`
  }
}

function keyText(key: Readonly<Record<string, string>>): string {
  return Object.entries(key).map(([column, value]) => `${column} ${value}`).join(', ')
}

export function unableText(outcome: Unable): string {
  if (outcome.kind === 'refused') return `${outcome.name}: ${outcome.message}`
  const { eventId, eventType, category, position, reason } = outcome.failure
  return `${outcome.name}: failed at ${formatPosition(position)}: ${eventType} ${eventId} of a ${category} stream\n  ${reason}`
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0)
}
