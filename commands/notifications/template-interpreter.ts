import { RenderFault } from './template-fault.ts'
import type { Body, Expression, LoopVariable, Statement } from './template-tree.ts'

/** Caps on one rendering. Steps bound its time without a clock, so a busy machine never fails a small template. */
const mostSteps = 20_000
const longestOutput = 262_144

/** What the renderings of one template may still use. */
export interface Budget {
  steps: number
  bytes: number
}

export function fullBudget(): Budget {
  return { steps: mostSteps, bytes: longestOutput }
}

type Frame = Readonly<Record<LoopVariable, unknown>> & { readonly parent: Frame | undefined }

interface Scope {
  /** The innermost first. */
  readonly values: readonly unknown[]
  /** Of block parameters. */
  readonly named: ReadonlyMap<string, unknown>
  /** The place in the innermost list. */
  readonly frame: Frame | undefined
}

/**
 * Runs a template, as Handlebars does. It reads own members of JSON values only, and calls nothing.
 *
 * @param escape applied to everything that comes from a variable
 * @throws RenderFault
 */
export function interpret(body: Body, variables: object, escape: (text: string) => string, budget: Budget): string {
  const output: string[] = []
  runAll(body, { values: [variables], named: new Map(), frame: undefined })
  return output.join('')

  function runAll(statements: Body, scope: Scope): void {
    for (const statement of statements) run(statement, scope)
  }

  function run(statement: Statement, scope: Scope): void {
    spend(1)
    switch (statement.kind) {
      case 'text':
        return write(statement.text)
      case 'print': {
        const text = printed(valueOf(statement.value, scope), statement.value)
        // Escaping makes a text longer, so a text beyond the cap need not be escaped.
        return write(text.length > budget.bytes ? text : escape(text))
      }
      case 'if': {
        const isMet = isTruthy(valueOf(statement.condition, scope)) !== statement.isNegated
        return runAll(isMet ? statement.body : statement.otherwise, scope)
      }
      case 'with': {
        const value = valueOf(statement.of, scope)
        if (isEmpty(value)) return runAll(statement.otherwise, scope)
        return runAll(statement.body, inside(scope, value, statement.names))
      }
      case 'each':
        return runEach(statement, scope)
    }
  }

  function runEach({ of, names, body, otherwise }: Extract<Statement, { kind: 'each' | 'with' }>, scope: Scope): void {
    const list = valueOf(of, scope)
    if (typeof list !== 'object' || list === null) return runAll(otherwise, scope)
    const keys = Array.isArray(list) ? undefined : Object.keys(list)
    const length = keys?.length ?? (Array.isArray(list) ? list.length : 0)
    if (length === 0) return runAll(otherwise, scope)
    for (let index = 0; index < length; index++) {
      spend(1)
      const key = keys?.[index] ?? index
      const value: unknown = Reflect.get(list, key)
      const frame = { index, key, first: index === 0, last: index === length - 1, parent: scope.frame }
      runAll(body, { ...inside(scope, value, names, key), frame })
    }
  }

  function valueOf(expression: Expression, scope: Scope): unknown {
    switch (expression.kind) {
      case 'literal':
        return expression.value
      case 'lookup': {
        spend(1)
        const key = valueOf(expression.key, scope)
        return isText(key) ? member(valueOf(expression.of, scope), String(key)) : undefined
      }
      case 'path': {
        const { from, up, parts, isScoped } = expression
        spend(parts.length + up)
        const [name = '', ...rest] = parts
        if (from === 'here' && up === 0 && !isScoped && scope.named.has(name))
          return rest.reduce(member, scope.named.get(name))
        return parts.reduce(member, from === 'here' ? scope.values[up] : from === 'root' ? variables : place(from, up))
      }
    }

    function place(variable: LoopVariable, up: number): unknown {
      let { frame } = scope
      for (let climbed = 0; climbed < up; climbed++) frame = frame?.parent
      return frame?.[variable]
    }
  }

  function write(text: string): void {
    budget.bytes -= Buffer.byteLength(text)
    if (budget.bytes < 0) throw new RenderFault('too-large', 'the output has more than 256 KiB')
    output.push(text)
  }

  function spend(steps: number): void {
    budget.steps -= steps
    if (budget.steps < 0) throw new RenderFault('too-many-steps', 'the rendering takes too many steps')
  }
}

/** The text of a value. Null prints nothing; a variable that is not there fails. */
function printed(value: unknown, { text }: Expression): string {
  if (value === undefined) throw new RenderFault('missing-variable', `the variable ${text} is missing`, text)
  if (value === null) return ''
  if (!isText(value)) throw new RenderFault('not-printable', `the variable ${text} is a list or an object`)
  return String(value)
}

function isText(value: unknown): value is string | number | boolean {
  return typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean'
}

/** An own member of an object or a list. Nothing else has members. */
export function member(value: unknown, name: string): unknown {
  const isHeld = typeof value === 'object' && value !== null && Object.hasOwn(value, name)
  return isHeld ? Reflect.get(value, name) : undefined
}

function isTruthy(value: unknown): boolean {
  return Boolean(value) && !(Array.isArray(value) && value.length === 0)
}

/** For `with`, the number 0 is a value. */
function isEmpty(value: unknown): boolean {
  return value !== 0 && !isTruthy(value)
}

/** The scope within a block of another value. `../` passes over blocks of the same value. */
function inside(scope: Scope, value: unknown, names: readonly string[], key?: string | number): Scope {
  const named = names.map((name, place) => [name, place === 0 ? value : key] as const)
  return {
    ...scope,
    values: value === scope.values[0] ? scope.values : [value, ...scope.values],
    named: names.length === 0 ? scope.named : new Map([...scope.named, ...named]),
  }
}
