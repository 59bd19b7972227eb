import type { Pool } from 'pg'
import { isAttended } from './attendance.ts'
import { knownProjectors, readProjectors, type ShownFailure, type ShownProjector } from './known-projectors.ts'

export async function listProjectors(pool: Pool, isJson: boolean): Promise<string> {
  const projectors = await readProjectors(pool)
  return isJson ? JSON.stringify({ projectors: projectors.map(jsonOf) }, null, 2) : textOf(projectors)
}

function textOf(projectors: readonly ShownProjector[]): string {
  const rows = projectors.map((projector) => [
    projector.name,
    versionText(projector),
    statusText(projector),
    projector.position ?? '-',
    copiesText(projector),
  ])
  const failures = projectors.flatMap(failureText)
  return [tableText([['NAME', 'VERSION', 'STATUS', 'POSITION', 'COPIES'], ...rows]), ...failures].join('\n')
}

function versionText({ version, programVersion }: ShownProjector): string {
  if (version === undefined) return `- (this program: ${programVersion})`
  if (programVersion === undefined) return `${version} (not of this program)`
  return version === programVersion ? String(version) : `${version} (this program: ${programVersion})`
}

/** A running status has no meaning without a running instance. */
export function statusText(projector: ShownProjector): string {
  const { status, silenceSeconds } = projector
  if ((status !== 'running' && status !== 'catching-up') || hasProcess(projector)) return status
  return silenceSeconds === undefined
    ? `${status}, but no process has run it yet`
    : `${status}, but no process runs it since ${Math.round(silenceSeconds)} s`
}

export function hasProcess({ silenceSeconds }: ShownProjector): boolean {
  return isAttended(silenceSeconds === undefined ? undefined : silenceSeconds * 1_000)
}

function copiesText({ copies }: ShownProjector): string {
  return copies.map(({ kind, version, position }) => `${kind} (version ${version}, at ${position})`).join(', ') || '-'
}

function failureText(projector: ShownProjector): string[] {
  const { name, status, version = 0, failure, copies } = projector
  const isDecisive = knownProjectors.find((known) => known.name === name)?.decisive === true
  const ofCopies = copies.flatMap((copy) => {
    // Only an upgrade needs its copy.
    const isWanted = copy.kind === 'next' && copy.version > version
    if (copy.isFailed && copy.failure === undefined) return ['', noRoomText(name, copy.version)]
    return failedText(`the ${copy.kind} copy of ${name}`, copy.failure, (position) =>
      isWanted ? [hintText(name, position, !isDecisive)] : [],
    )
  })
  return [
    ...failedText(name, failure, (position) => [hintText(name, position, !isDecisive && status === 'failed')]),
    ...ofCopies,
  ]
}

function failedText(what: string, failure: ShownFailure | undefined, hint: (position: string) => string[]): string[] {
  if (failure === undefined) return []
  const { eventId, eventType, category, position, reason } = failure
  return [
    '',
    `${what} failed at ${position}: ${eventType} ${eventId} of a ${category} stream`,
    `  ${reason}`,
    ...hint(position),
  ]
}

/** For a copy whose tables an upgrade dropped. */
export function noRoomText(name: string, version: number): string {
  return `the copy of ${name} in version ${version} found no room on the disk: make room, then projections retry ${name}`
}

function hintText(name: string, position: string, canSkip: boolean): string {
  return `  projections retry ${name}${canSkip ? `, or projections skip ${name} ${position} --reason TEXT` : ''}`
}

function jsonOf(projector: ShownProjector) {
  const { name, version, programVersion, status, position, idleSeconds, silenceSeconds, copies, failure } = projector
  return {
    name,
    version: version ?? null,
    program_version: programVersion ?? null,
    status,
    has_process: hasProcess(projector),
    position: position ?? null,
    seconds_since_move: rounded(idleSeconds),
    seconds_since_heartbeat: rounded(silenceSeconds),
    copies: copies.map(({ isFailed, failure: failureOfCopy, ...copy }) => ({
      ...copy,
      is_failed: isFailed,
      failure: failureJson(failureOfCopy),
    })),
    failure: failureJson(failure),
  }
}

function failureJson(failure: ShownFailure | undefined) {
  if (failure === undefined) return null
  const { eventId, eventType, category, position, reason } = failure
  return { event_id: eventId, event_type: eventType, category, position, reason }
}

function rounded(seconds: number | undefined): number | null {
  return seconds === undefined ? null : Math.round(seconds * 10) / 10
}

/** Cells as lines of a table for a terminal, each column as wide as its widest cell. */
export function tableText(rows: readonly (readonly string[])[]): string {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => (row[column] ?? '').length)))
  return rows
    .map((row) =>
      row
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n')
}
