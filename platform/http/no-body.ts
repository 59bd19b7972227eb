import { problem } from '../problems.ts'
import { escapePointer } from './errors.ts'

/**
 * For routes that take no body: none, an empty one and `{}` are the same, anything else was meant to say something.
 *
 * @throws Problem `validation-failed`
 */
export function requireNoBody(body: unknown): void {
  if (body === undefined) return
  if (typeof body !== 'object' || body === null || Array.isArray(body)) throw refused([''])
  const members = Object.keys(body)
  if (members.length > 0) throw refused(members.map((name) => `/${escapePointer(name)}`))
}

function refused(pointers: readonly string[]) {
  const errors = pointers.map((pointer) => ({ pointer, detail: 'is not a member of this request', code: 'unknown-member' }))
  return problem('validation-failed', { errors })
}
