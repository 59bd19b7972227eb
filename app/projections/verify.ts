import type { RebuildContext } from '../../engine/rebuild/context.ts'
import { verify, type VerifyOutcome } from '../../engine/rebuild/rebuild.ts'
import { formatPosition } from '../../platform/kit/positions.ts'
import { differenceText, passedOverBy, sizeText, unableText } from './comparison-text.ts'
import type { CommandReport } from './going-on.ts'
import { projectorNamed } from './known-projectors.ts'

/** Compares each projector with the log. Prints one JSON text, or one text per projector. */
export async function verifyProjectors(
  context: RebuildContext,
  names: readonly string[],
  isJson: boolean,
): Promise<readonly CommandReport[]> {
  const outcomes = await verify(context, names.map(projectorNamed))
  const passedOver = await passedOverBy(context, names)
  if (!isJson)
    return outcomes.map((outcome) => ({
      text: textOf(outcome, passedOver(outcome.name)),
      isDone: outcome.kind === 'equal',
    }))
  const projectors = outcomes.map((outcome) => jsonOf(outcome, passedOver(outcome.name)))
  return [{ text: JSON.stringify({ projectors }, null, 2), isDone: outcomes.every(({ kind }) => kind === 'equal') }]
}

function textOf(outcome: VerifyOutcome, passedOver: ReadonlySet<string>): string {
  if (!('comparison' in outcome)) return unableText(outcome)
  const { name, kind, comparison } = outcome
  const place = formatPosition(comparison.position)
  if (kind === 'equal') return `${name}: equal at ${place} (${sizeText(comparison, passedOver)})`
  const { difference } = comparison
  return [
    `${name}: differs at ${place} (${sizeText(comparison, passedOver)})`,
    ...(difference === undefined ? [] : [`  ${differenceText(difference)}`]),
  ].join('\n')
}

function jsonOf(outcome: VerifyOutcome, passedOver: ReadonlySet<string>) {
  const { name, kind } = outcome
  if (outcome.kind === 'refused') return { name, kind, reason: outcome.reason, message: outcome.message }
  if (outcome.kind === 'failed') {
    const { eventId, eventType, category, position, reason } = outcome.failure
    return {
      name,
      kind,
      failure: { event_id: eventId, event_type: eventType, category, position: formatPosition(position), reason },
    }
  }
  const { position, tables, difference } = outcome.comparison
  return {
    name,
    kind,
    position: formatPosition(position),
    tables: tables.map(({ table, rows, copyRows, hash, copyHash }) => ({
      table,
      rows,
      rows_by_log: copyRows,
      sha256: hash,
      sha256_by_log: copyHash,
    })),
    passed_over: [...passedOver],
    difference: difference ?? null,
  }
}
