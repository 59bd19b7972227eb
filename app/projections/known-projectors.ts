import { processes } from '../../processes/registry.ts'
import { readModels } from '../../projections/registry.ts'
import type { Projector } from '../../engine/projections/projector.ts'
import type { Pool } from 'pg'
import type { ProjectionFailure, StoredStatus } from '../../engine/projections/checkpoints.ts'
import { isTableMissing } from '../../platform/database/database.ts'

/** All projectors of this program: the read models and the to-do lists of the processes. */
export const knownProjectors: readonly Projector[] = [
  ...readModels,
  ...processes.map((process) => process.list),
].toSorted((a, b) => (a.name < b.name ? -1 : 1))

export const knownNames: readonly string[] = knownProjectors.map(({ name }) => name)

/** For a name that the command line has accepted. */
export function projectorNamed(name: string): Projector {
  const projector = knownProjectors.find((known) => known.name === name)
  if (projector === undefined) throw new TypeError(`no projector ${name}`)
  return projector
}

/** A rebuild fills `next`, a comparison fills `check`; `previous` served before the last switch. */
const copyKinds = ['next', 'previous', 'check'] as const
type CopyKind = (typeof copyKinds)[number]

/** `catching-up`: on its way to the head. `unseen`: no instance has ever run it. */
type ShownStatus = 'running' | 'failed' | 'catching-up' | 'stopped' | 'unseen'

/** The database's data about a projector, and this program's version of it. */
export interface ShownProjector {
  readonly name: string
  /** Undefined if no instance has ever run it. */
  readonly version: number | undefined
  /** Undefined for a projector that this program does not have. */
  readonly programVersion: number | undefined
  readonly status: ShownStatus
  /** `commit/prepare`. */
  readonly position: string | undefined
  /** Seconds since the checkpoint last moved. */
  readonly idleSeconds: number | undefined
  /** Seconds since the last heartbeat of its instance; undefined if there was none. */
  readonly silenceSeconds: number | undefined
  readonly copies: readonly ShownCopy[]
  readonly failure: ShownFailure | undefined
}

export interface ShownCopy {
  readonly kind: CopyKind
  readonly version: number
  readonly position: string
  /** The fill failed: at the event of `failure`, or else for lack of room on the disk. */
  readonly isFailed: boolean
  /** Set if a newer program could not fill the copy. */
  readonly failure: ShownFailure | undefined
}

/** `position` is `commit/prepare`. */
export type ShownFailure = Omit<ProjectionFailure, 'position'> & { readonly position: string }

interface ProjectorRow {
  name: string
  version: number
  position: string
  status: StoredStatus
  idle_seconds: number
  silence_seconds: number | null
  failed_event_id: string | null
  failed_event_type: string | null
  failed_category: string | null
  failed_position: string | null
  failed_reason: string | null
}

/** All projectors by name: those of this program, and those that other programs left in the database. */
export async function readProjectors(pool: Pool): Promise<readonly ShownProjector[]> {
  const rows = await readRows(pool)
  const serving = rows.filter(({ name }) => !name.includes('__'))
  const programVersions = new Map(knownProjectors.map(({ name, version }) => [name, version]))
  const names = new Set([...programVersions.keys(), ...serving.map(({ name }) => name)])
  return [...names].toSorted().map((name) => shown(name, programVersions.get(name), rows))
}

/** One projector; `unseen` if the database has none of that name. */
export async function readProjector(pool: Pool, name: string): Promise<ShownProjector> {
  const projectors = await readProjectors(pool)
  return projectors.find((projector) => projector.name === name) ?? shown(name, undefined, [])
}

async function readRows(pool: Pool): Promise<readonly ProjectorRow[]> {
  try {
    const { rows } = await pool.query<ProjectorRow>(
      `select name, version, commit_position || '/' || prepare_position as position, status,
         extract(epoch from clock_timestamp() - updated_at)::float8 as idle_seconds,
         extract(epoch from clock_timestamp() - heartbeat_at)::float8 as silence_seconds,
         failed_event_id, failed_event_type, failed_category, failed_reason, failed_commit || '/' || failed_prepare as failed_position
       from runtime.projectors`,
    )
    return rows
  } catch (error) {
    // No instance has ever used this database for projections.
    if (isTableMissing(error)) return []
    throw error
  }
}

function shown(name: string, programVersion: number | undefined, rows: readonly ProjectorRow[]): ShownProjector {
  const row = rows.find((one) => one.name === name)
  const copies = copyKinds.flatMap((kind) => {
    const copy = rows.find((one) => one.name === `${name}__${kind}`)
    return copy === undefined
      ? []
      : [
          {
            kind,
            version: copy.version,
            position: copy.position,
            isFailed: copy.status === 'failed',
            failure: failureIn(copy),
          },
        ]
  })
  return {
    name,
    version: row?.version,
    programVersion,
    status: row === undefined ? 'unseen' : row.status === 'rebuilding' ? 'catching-up' : row.status,
    position: row?.position,
    idleSeconds: row?.idle_seconds,
    silenceSeconds: row?.silence_seconds ?? undefined,
    copies,
    failure: row === undefined ? undefined : failureIn(row),
  }
}

function failureIn(row: ProjectorRow): ShownFailure | undefined {
  const {
    failed_event_id: eventId,
    failed_event_type: eventType,
    failed_category: category,
    failed_position: position,
    failed_reason: reason,
  } = row
  if (eventId === null || eventType === null || category === null || position === null || reason === null)
    return undefined
  return { eventId, eventType, category, position, reason }
}
