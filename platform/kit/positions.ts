/** A place in `$all`. It has commit and prepare position, because a checkpoint needs both to resume. */
export interface Position {
  readonly commit: bigint
  readonly prepare: bigint
}

export const startOfLog: Position = { commit: 0n, prepare: 0n }

/** Negative if `a` is before `b`, 0 if they are equal, positive otherwise. */
export function comparePositions(a: Position, b: Position): number {
  if (a.commit !== b.commit) return a.commit < b.commit ? -1 : 1
  if (a.prepare !== b.prepare) return a.prepare < b.prepare ? -1 : 1
  return 0
}

/** `commit/prepare`, the form in headers and metadata. */
export function formatPosition(position: Position): string {
  return `${position.commit}/${position.prepare}`
}

/** Reverses `formatPosition`; undefined for any other text. */
export function parsePosition(text: string): Position | undefined {
  const match = /^(\d{1,20})\/(\d{1,20})$/.exec(text)
  if (match?.[1] === undefined || match[2] === undefined) return undefined
  return { commit: BigInt(match[1]), prepare: BigInt(match[2]) }
}

/** Revision of a stream's last event, or the mark of an empty stream. */
export type StreamRevision = bigint | 'no_stream'

/** Revision of the next event. */
export function nextRevision(revision: StreamRevision): bigint {
  return revision === 'no_stream' ? 0n : revision + 1n
}
