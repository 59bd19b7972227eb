import { problem } from '../problems.ts'

/**
 * For routes that take no body: none, an empty one and `{}` are the same, anything else was meant to say something.
 *
 * @throws Problem `validation-failed`
 */
export function requireNoBody(body: unknown): void {
  if (body === undefined) return
  if (typeof body !== 'object' || body === null || Array.isArray(body)) throw refused([''])
  const members = Object.keys(body)
  if (members.length > 0) throw refused(members.map((name) => `/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`))
}

function refused(pointers: readonly string[]) {
  const errors = pointers.map((pointer) => ({ pointer, detail: 'is not known here', code: 'additionalProperties' }))
  return problem('validation-failed', { errors })
}
