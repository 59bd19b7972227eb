import type { Comparison } from '../../engine/rebuild/content.ts'
import type { Difference } from '../../engine/rebuild/first-difference.ts'
import type { RebuildContext } from '../../engine/rebuild/context.ts'
import type { Unable } from '../../engine/rebuild/rebuild.ts'
import { formatPosition } from '../../platform/kit/positions.ts'

/**
 * The size of a comparison: serving rows, rows of the copy if they differ, and skipped events, which both copies lack.
 */
export function sizeText({ tables }: Comparison, passedOver: ReadonlySet<string>): string {
  const rows = sum(tables.map((table) => table.rows))
  const copyRows = sum(tables.map((table) => table.copyRows))
  const rowsText = rows === copyRows ? `${rows} rows` : `${rows} rows, ${copyRows} by the log`
  return passedOver.size === 0
    ? rowsText
    : `${rowsText}, ${passedOver.size} event${passedOver.size === 1 ? '' : 's'} skipped`
}

/** The events that each projector skips, by its name. */
export async function passedOverBy(
  { skips }: RebuildContext,
  names: readonly string[],
): Promise<(name: string) => ReadonlySet<string>> {
  const sets = new Map<string, ReadonlySet<string>>()
  for (const name of names) sets.set(name, (await skips?.(name)) ?? new Set())
  return (name) => sets.get(name) ?? new Set()
}

/** The first row that differs, by its key. Contains names of columns, never their values. */
export function differenceText(difference: Difference): string {
  switch (difference.kind) {
    case 'changed':
      return `table ${difference.table}, row ${keyText(difference.key)}: differs in ${difference.columns.join(', ')}`
    case 'missing':
      return `table ${difference.table}, row ${keyText(difference.key)}: is missing from the serving copy`
    case 'surplus':
      return `table ${difference.table}, row ${keyText(difference.key)}: is in the serving copy, but not in the log`
    case 'shape':
      return `table ${difference.table}: ${difference.columns.join(', ') || 'the whole table'} is not the same in both`
  }
}

function keyText(key: Readonly<Record<string, string>>): string {
  return Object.entries(key)
    .map(([column, value]) => `${column} ${value}`)
    .join(', ')
}

export function unableText(outcome: Unable): string {
  if (outcome.kind === 'refused') return `${outcome.name}: ${outcome.message}`
  const { eventId, eventType, category, position, reason } = outcome.failure
  return `${outcome.name}: failed at ${formatPosition(position)}: ${eventType} ${eventId} of a ${category} stream\n  ${reason}`
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0)
}
