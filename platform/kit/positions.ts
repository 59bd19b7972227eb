/** A place in `$all`: commit and prepare position, both, since a checkpoint of one of them is not enough to resume. */
export interface Position {
  readonly commit: bigint
  readonly prepare: bigint
}

export const startOfLog: Position = { commit: 0n, prepare: 0n }

/** Negative when `a` is before `b`, 0 when they are the same place, positive otherwise. */
export function comparePositions(a: Position, b: Position): number {
  if (a.commit !== b.commit) return a.commit < b.commit ? -1 : 1
  if (a.prepare !== b.prepare) return a.prepare < b.prepare ? -1 : 1
  return 0
}

/** `commit/prepare`, as headers and metadata carry it. */
export function formatPosition(position: Position): string {
  return `${position.commit}/${position.prepare}`
}

/** Reverses `formatPosition`; undefined for anything else. */
export function parsePosition(text: string): Position | undefined {
  const match = /^(\d{1,20})\/(\d{1,20})$/.exec(text)
  if (match?.[1] === undefined || match[2] === undefined) return undefined
  return { commit: BigInt(match[1]), prepare: BigInt(match[2]) }
}

/** Revision of a stream's last event, or that it has none. */
export type StreamRevision = bigint | 'no_stream'

/** Revision of the event that follows. */
export function nextRevision(revision: StreamRevision): bigint {
  return revision === 'no_stream' ? 0n : revision + 1n
}
