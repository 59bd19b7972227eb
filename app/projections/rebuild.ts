import type { RebuildContext } from '../../engine/rebuild/context.ts'
import { rebuild, type RebuildOutcome } from '../../engine/rebuild/rebuild.ts'
import { drop, rollback } from '../../engine/rebuild/rollback.ts'
import { formatPosition } from '../../platform/kit/positions.ts'
import type { Pool } from '../../platform/database/database.ts'
import { differenceText, passedOverBy, sizeText, unableText } from './comparison-text.ts'
import type { CommandReport } from './going-on.ts'
import { projectorNamed } from './known-projectors.ts'

/** One outcome per projector, printed separately. A projector that cannot be rebuilt does not stop the others. */
export async function rebuildProjectors(
  context: RebuildContext,
  names: readonly string[],
  acceptDifference: boolean,
): Promise<readonly CommandReport[]> {
  const outcomes = await rebuild(context, names.map(projectorNamed), { acceptDifference })
  const passedOver = await passedOverBy(context, names)
  return outcomes.map((outcome) => reportOfRebuild(outcome, passedOver(outcome.name)))
}

type Switched = Extract<RebuildOutcome, { kind: 'switched' }>

/** The result of one rebuild, for the operator. It counts as done only after a switch. */
export function reportOfRebuild(outcome: RebuildOutcome, passedOver: ReadonlySet<string>): CommandReport {
  if (outcome.kind === 'switched') return { text: switchedText(outcome, passedOver), isDone: true }
  if (outcome.kind !== 'differs') return { text: unableText(outcome), isDone: false }
  const { name, comparison } = outcome
  const lines = [
    `${name}: not switched: at ${formatPosition(comparison.position)} the serving copy differs from the log (${sizeText(comparison, passedOver)})`,
    ...(comparison.difference === undefined ? [] : [`  ${differenceText(comparison.difference)}`]),
    `  if the serving copy is wrong: projections rebuild ${name} --accept-difference`,
  ]
  return { text: lines.join('\n'), isDone: false }
}

function switchedText(
  { name, comparison, versions, position, status }: Switched,
  passedOver: ReadonlySet<string>,
): string {
  const { isEqual, difference } = comparison
  const versionText =
    versions.from === versions.to ? `version ${versions.to}` : `version ${versions.from} replaced by ${versions.to}`
  const contentText = isEqual
    ? `${sizeText(comparison, passedOver)}, equal by content hash at ${formatPosition(comparison.position)}`
    : `${sizeText(comparison, passedOver)}, different`
  const lines = [
    `${name}: rebuilt and switched at ${formatPosition(position)} (${versionText}; ${contentText})`,
    ...(difference === undefined ? [] : [`  first difference: ${differenceText(difference)}`]),
    ...(versions.from === versions.to
      ? []
      : [`  instances of version ${versions.from} stand by from now on: start those of version ${versions.to}`]),
    ...(status === 'stopped' ? [stoppedText(name)] : []),
  ]
  return lines.join('\n')
}

export async function rollBack(context: RebuildContext, name: string): Promise<CommandReport> {
  const outcome = await rollback(context, projectorNamed(name))
  if (outcome.kind === 'failed') return { text: unableText(outcome), isDone: false }
  const lines = [
    `${name}: the previous copy serves again, from ${formatPosition(outcome.position)}; another rollback reverses this one`,
    ...(outcome.status === 'stopped' ? [stoppedText(name)] : []),
  ]
  return { text: lines.join('\n'), isDone: true }
}

export async function dropCopies(pool: Pool, name: string): Promise<CommandReport> {
  const dropped = await drop(pool, name)
  return { text: dropped.length === 0 ? `${name} has no copy to drop` : `dropped ${dropped.join(', ')}`, isDone: true }
}

function stoppedText(name: string): string {
  return `  it is stopped, as before: projections retry ${name} resumes it`
}
