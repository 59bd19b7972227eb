import { readCheckpoints } from '../../engine/projections/checkpoints.ts'
import type { Pool } from '../../platform/database/database.ts'
import { knownNames } from './known-projectors.ts'

/** A process that runs a projector holds its lock and writes a heartbeat each second. In milliseconds. */
const silenceLimitMs = 10_000

/** False if the process that ran it has ended, hangs, or cannot reach the database. Undefined: no process ever ran it. */
export function isAttended(silenceMs: number | undefined): boolean {
  return silenceMs !== undefined && silenceMs < silenceLimitMs
}

/** The stored state of a projector of this program, whichever process runs it. */
export interface Attendance {
  readonly name: string
  readonly hasProcess: boolean
  readonly hasFailed: boolean
}

export async function readAttendance(pool: Pool): Promise<readonly Attendance[]> {
  const stored = await readCheckpoints(pool, knownNames)
  return knownNames.map((name) => {
    const row = stored.get(name)
    // A copy that has just replaced another one has no heartbeat yet.
    const hasProcess = isAttended(row?.heartbeatAgeMs ?? row?.idleMs)
    return { name, hasProcess, hasFailed: row?.status === 'failed' }
  })
}
