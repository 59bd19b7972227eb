import { at } from '../../app/demo/members.ts'

/** One operation of the OpenAPI document. */
export interface DocumentedOperation {
  readonly operationId: string
  readonly method: string
  /** With `{name}` in place of ids and codes. */
  readonly path: string
  readonly parameters: readonly string[]
  /** Scopes of the token. Undefined if no token is needed, empty if any token is enough. */
  readonly scopes: readonly string[] | undefined
  /** Needs an actor context or the administrator secret. */
  readonly isAdmin: boolean
  /** The document's description of each status; for problems their codes, separated by commas. */
  readonly answers: Readonly<Record<string, string>>
}

/** Health and metrics of a service. They are those of the host, need no token, and have tests of their own. */
export function isForOperators(path: string): boolean {
  return path !== '/v1/operations/health' && /^\/v1\/.*\/(?:health(?:\/live|\/ready)?|metrics)$/.test(path)
}

/** Every operation in `/openapi.json`, except health and metrics of single services. */
export async function operationsOf(baseUrl: string): Promise<readonly DocumentedOperation[]> {
  const document: unknown = await (await fetch(`${baseUrl}/openapi.json`)).json()
  const paths = membersOf(at(document, 'paths')).filter(([path]) => !isForOperators(path))
  return paths.flatMap(([path, methods]) =>
    membersOf(methods).map(([method, operation]) => {
      const schemes = listOf(at(operation, 'security'))
      return {
        operationId: String(at(operation, 'operationId')),
        method: method.toUpperCase(),
        path,
        parameters: [...path.matchAll(/\{([^}]+)\}/g)].map(([, name = '']) => name),
        scopes: schemes.length === 0 ? undefined : listOf(at(schemes[0], 'token')).map(String),
        isAdmin: schemes.some((scheme) => at(scheme, 'adminSecret') !== undefined),
        answers: Object.fromEntries(
          membersOf(at(operation, 'responses')).map(([status, answer]) => [status, String(at(answer, 'description'))]),
        ),
      }
    }),
  )
}

/** The path with a value for each parameter. */
export function pathWith({ path }: DocumentedOperation, values: Readonly<Record<string, string>>): string {
  return path.replace(/\{([^}]+)\}/g, (_, name: string) => {
    const value = values[name]
    if (value === undefined) throw new Error(`no value for ${name} of ${path}`)
    return value
  })
}

function membersOf(value: unknown): [string, unknown][] {
  return typeof value === 'object' && value !== null ? Object.entries(value) : []
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : []
}
