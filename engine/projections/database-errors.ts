import { basename } from 'node:path'
import { DatabaseError } from 'pg'
import { isDatabaseFull } from '../../platform/database/database.ts'
import { RowConflictError } from './rows-step.ts'

/**
 * - `gone`: the database no longer exists.
 * - `transient`: connection, shut-down, resources, locks; the same statement may succeed later.
 * - `rejected`: the statement itself is wrong; every repeat fails.
 */
export type DatabaseFailure = 'gone' | 'transient' | 'rejected'

/** SQLSTATE classes whose cause is not the statement. */
const transientClasses = new Set(['08', '25', '40', '53', '55', '57', '58'])

export function databaseFailure(error: unknown): DatabaseFailure {
  if (!(error instanceof DatabaseError)) return 'transient'
  const { code } = error
  if (code === '3D000') return 'gone'
  if (isDatabaseFull(error)) return 'transient'
  return code === undefined || transientClasses.has(code.slice(0, 2)) ? 'transient' : 'rejected'
}

/** The server ended the statement, because it took longer than the limit of its connection. */
export function isTimedOut(error: unknown): boolean {
  return error instanceof DatabaseError && error.code === '57014'
}

/** Why an event could not be projected, without its values. */
export function reasonOf(error: unknown): string {
  if (error instanceof RowConflictError) return error.message
  if (error instanceof DatabaseError) {
    const places = [error.table, error.column, error.constraint].filter((place) => place !== undefined)
    return ['Postgres', error.code ?? 'error', ...places].join(' ')
  }
  if (!(error instanceof Error)) return 'a handler threw something that is no error'
  const frame = /\(?([^\s()]+):(\d+):\d+\)?$/m.exec(error.stack ?? '')
  const place = frame?.[1] === undefined ? '' : ` at ${basename(frame[1])}:${frame[2]}`
  return `${error.name}${place}`
}
