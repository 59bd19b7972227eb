import { at } from '../../../app/demo/members.ts'
import { comparePositions, parsePosition, startOfLog } from '../../../platform/kit/positions.ts'
import { categoryOf, placeOf, text, type Fact, type Finding } from '../facts.ts'
import { erasedIds, ofLiving } from './erased.ts'
import { checkSameOrder } from './log.ts'
import { checkReadModels, type TableContent } from './read-models.ts'

/** A backup that was made during the run, as it was restored elsewhere. */
export interface RestoredCopy {
  readonly id: string
  /** Of the last event of the backup. */
  readonly position: string
  /** What the restore itself has named. */
  readonly faults: readonly string[]
  /** The restored log, with the events that the restore has appended. */
  readonly log: readonly Fact[]
  /** SHA-256 in hex of each object that is there and that an event names, by key. */
  readonly objects: ReadonlyMap<string, string>
  /** `<organisation>/<subject>` of the keys that exist. */
  readonly keys: ReadonlySet<string>
  readonly rows: readonly TableContent[]
  /** Rows of the read models that were filled from the original log up to the position. */
  readonly rebuilt: readonly TableContent[]
}

interface NamedObject {
  readonly key: string
  readonly sha256: string
}

/** The objects in the data of an event, with their hashes: photographs and raw responses. */
export function objectsIn(value: unknown): readonly NamedObject[] {
  if (typeof value !== 'object' || value === null) return []
  const [key, sha256] = [at(value, 'key'), at(value, 'sha256')]
  const named = typeof key === 'string' && typeof sha256 === 'string' ? [{ key, sha256 }] : []
  return [...named, ...Object.values(value).flatMap(objectsIn)]
}

/** Backups whose command ended well, and that the place does not have. It may have more: a killed command may end its last step. */
export function lostBackups(made: readonly string[], listed: readonly string[]): readonly Finding[] {
  const lost = made.filter((id) => !listed.includes(id))
  return lost.map((id) => ({ what: 'a backup that was made is gone', where: `backup ${id}` }))
}

/** A restore appends to these streams. */
const ofRestore: ReadonlySet<string> = new Set(['backups', 'log_seals'])

/**
 * The backup contains the log up to its position and nothing behind it. Its restored read models equal a rebuild of the
 * original up to there. Each object that an event of a living patient names is there with its hash. Nobody who is erased
 * in the original at its end comes back.
 */
export function checkBackup(copy: RestoredCopy, original: readonly Fact[]): readonly Finding[] {
  const patients = new Set(
    original.filter(({ type }) => type === 'PatientErasureStarted').map((fact) => text(fact, 'patientId')),
  )
  return [
    ...copy.faults.map((fault) => ({ what: fault, where: 'named by the restore' })),
    ...eventsOf(copy, original),
    ...checkReadModels(copy.rows, copy.rebuilt).findings,
    ...objectsOf(copy, erasedIds(original)),
    ...[...copy.keys]
      .filter((key) => patients.has(key.slice(key.indexOf('/') + 1)))
      .map((key) => ({ what: 'the key of an erased patient', where: key })),
  ].map(({ what, where }) => ({ what, where: `backup ${copy.id}: ${where}` }))
}

function eventsOf({ position, log }: RestoredCopy, original: readonly Fact[]): Finding[] {
  const end = parsePosition(position) ?? startOfLog
  const isWithin = (fact: Fact) => comparePositions(parsePosition(fact.position) ?? startOfLog, end) <= 0
  const [copied, before] = [log.filter(isWithin), original.filter(isWithin)]
  const lost = before[copied.length]
  return [
    ...checkSameOrder('restored', copied, before).findings,
    ...(lost === undefined ? [] : [{ what: `${copied.length} of ${before.length} events`, where: placeOf(lost) }]),
    ...log
      .filter((fact) => !isWithin(fact) && !ofRestore.has(categoryOf(fact)))
      .map((fact) => ({ what: 'an event behind the position', where: placeOf(fact) })),
  ]
}

function objectsOf({ log, objects }: RestoredCopy, erased: ReadonlySet<string>): Finding[] {
  return ofLiving(log, erased).flatMap((fact) =>
    objectsIn(fact.data).flatMap(({ key, sha256 }) => {
      const found = objects.get(key)
      if (found === sha256) return []
      const what = found === undefined ? `an object that is gone: ${key}` : `an object with another hash: ${key}`
      return [{ what, where: placeOf(fact) }]
    }),
  )
}
