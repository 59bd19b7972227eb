import type { Body, Expression, Statement } from './tree.ts'

/** The variables that a template uses. */
export interface UsedVariables {
  /** First names of all paths. */
  readonly names: ReadonlySet<string>
  /** Paths whose absence always fails the rendering, by their text. */
  readonly required: ReadonlyMap<string, readonly string[]>
}

interface Scope {
  /** Whether each surrounding value is the set of all variables, the innermost last. */
  readonly areRoots: readonly boolean[]
  /** Paths that have a value here, because they are the condition of a surrounding `if`. */
  readonly given: ReadonlySet<string>
}

/** A path is required if it is printed outside an `if` on the same path. */
export function usedVariables(...bodies: readonly Body[]): UsedVariables {
  const names = new Set<string>()
  const required = new Map<string, readonly string[]>()
  for (const body of bodies) visitAll(body, { areRoots: [true], given: new Set() })
  return { names, required }

  function visitAll(body: Body, scope: Scope): void {
    for (const statement of body) visit(statement, scope)
  }

  function visit(statement: Statement, scope: Scope): void {
    switch (statement.kind) {
      case 'text':
        return
      case 'print':
        for (const path of pathsIn(statement.value, scope)) {
          const text = path.join('.')
          if (!scope.given.has(text)) required.set(text, path)
        }
        return
      case 'if': {
        const asked = pathsIn(statement.condition, scope).map((path) => path.join('.'))
        const isPath = statement.condition.kind === 'path'
        const within = isPath ? { ...scope, given: new Set([...scope.given, ...asked]) } : scope
        visitAll(statement.body, statement.isNegated ? scope : within)
        visitAll(statement.otherwise, statement.isNegated ? within : scope)
        return
      }
      case 'each':
      case 'with': {
        pathsIn(statement.of, scope)
        visitAll(statement.body, { ...scope, areRoots: [...scope.areRoots, false] })
        visitAll(statement.otherwise, scope)
      }
    }
  }

  /** The paths of an expression that begin at the variables themselves. Notes their names. */
  function pathsIn(expression: Expression, scope: Scope): readonly (readonly string[])[] {
    if (expression.kind === 'literal') return []
    if (expression.kind === 'lookup') return [...pathsIn(expression.of, scope), ...pathsIn(expression.key, scope)]
    const { from, up, parts } = expression
    const [name] = parts
    const isOfRoot = from === 'root' || (from === 'here' && scope.areRoots.at(-1 - up) === true)
    if (name === undefined || !isOfRoot) return []
    names.add(name)
    return [parts]
  }
}
