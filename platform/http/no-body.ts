import { invalidMember, problem } from './problems.ts'
import { escapePointer, mostReported } from './errors.ts'

/**
 * For routes without a body: no body, an empty body and `{}` are equal. Any other body is an error of the caller.
 * @throws Problem `validation-failed`
 */
export function requireNoBody(body: unknown): void {
  if (body === undefined) return
  if (typeof body !== 'object' || body === null || Array.isArray(body)) {
    throw invalidMember('', 'must be left out, or be {}', 'type')
  }
  const errors = Object.keys(body)
    .slice(0, mostReported)
    .map((name) => ({
      pointer: `/${escapePointer(name)}`,
      detail: 'is not a member of this request',
      code: 'unknown-member',
    }))
  if (errors.length > 0) throw problem('validation-failed', { errors })
}
