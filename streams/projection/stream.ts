export const category = 'projection'

/** A projector serves all organisations, so its stream belongs to none. */
export function projectionStream(projector: string): string {
  return `${category}-${projector}`
}
