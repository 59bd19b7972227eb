import { S3Error } from './errors.ts'

/** A request's conditions on an object's ETag, from headers like `if-match`. */
export type Conditions = { match: string | undefined; noneMatch: string | undefined }

/** Whether the conditions hold for an existing object. `*` holds for every object. */
export function conditionsHold(etag: string, conditions: Conditions): { match: boolean; noneMatch: boolean } {
  return {
    match: conditions.match === undefined || names(conditions.match, etag),
    noneMatch: conditions.noneMatch === undefined || !names(conditions.noneMatch, etag),
  }
}

export function preconditionFailed(): S3Error {
  return new S3Error('PreconditionFailed', 'At least one of the pre-conditions you specified did not hold')
}

function names(header: string, etag: string): boolean {
  return header.split(',').some((entry) => {
    const value = entry.trim().replace(/^W\//, '').replaceAll('"', '')
    return value === '*' || value === etag
  })
}

/**
 * First and last byte of a `Range: bytes=` header, limited to the object. Undefined means the whole object, also for
 * forms that the protocol allows a server to ignore. Throws `InvalidRange` when the object has no byte in the range.
 */
export function requestedRange(header: string | undefined, size: number): { first: number; last: number } | undefined {
  const [, from = '', to = ''] = /^bytes=(\d*)-(\d*)$/.exec(header ?? '') ?? []
  if (from === '' && to === '') return undefined
  const first = from === '' ? Math.max(0, size - Number(to)) : Number(from)
  const last = from === '' || to === '' ? size - 1 : Math.min(Number(to), size - 1)
  if (first > last || first >= size) throw new S3Error('InvalidRange', 'The requested range is not satisfiable')
  return { first, last }
}
