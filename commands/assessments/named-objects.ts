import type { AssessmentState } from '../../streams/assessment/aggregate.ts'

/** The keys of the stored images that an assessment names: whatever else was stored for it may be removed. */
export function namedObjects(state: AssessmentState): ReadonlySet<string> {
  if (state.status === 'absent') return new Set()
  return new Set(state.images.flatMap((image) => ('object' in image ? [image.object.key] : [])))
}
