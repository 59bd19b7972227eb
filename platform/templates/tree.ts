import { parseSource } from './tokens.ts'
import { TemplateFault, type TemplateMember } from './faults.ts'

/** A value in a template. `text` is its form in the source, for error details. */
export type Expression = { readonly text: string } & (
  | { readonly kind: 'literal'; readonly value: string | number | boolean }
  | {
      readonly kind: 'path'
      /** Where the path begins: the current value, all variables, the place in a list, or a block parameter. */
      readonly from: 'here' | 'root' | LoopVariable | BlockParameter
      /** The number of `../`; of a block parameter, the number of blocks with parameters between. */
      readonly up: number
      readonly parts: readonly string[]
    }
  | { readonly kind: 'lookup'; readonly of: Expression; readonly key: Expression }
)

export type LoopVariable = 'index' | 'key' | 'first' | 'last'

/** The first and the second name of `as |item place|`. */
export type BlockParameter = 'item' | 'place'

export type Statement =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'print'; readonly value: Expression }
  | {
      readonly kind: 'if'
      readonly isNegated: boolean
      readonly condition: Expression
      readonly body: Body
      readonly otherwise: Body
    }
  | {
      readonly kind: 'each' | 'with'
      readonly of: Expression
      readonly hasParameters: boolean
      readonly body: Body
      readonly otherwise: Body
    }

export type Body = readonly Statement[]

type StatementNode =
  | hbs.AST.MustacheStatement
  | hbs.AST.BlockStatement
  | hbs.AST.ContentStatement
  | hbs.AST.CommentStatement
  | hbs.AST.PartialStatement
  | hbs.AST.PartialBlockStatement

type ExpressionNode =
  | hbs.AST.PathExpression
  | hbs.AST.SubExpression
  | hbs.AST.StringLiteral
  | hbs.AST.NumberLiteral
  | hbs.AST.BooleanLiteral
  | hbs.AST.NullLiteral
  | hbs.AST.UndefinedLiteral

const longestName = 200

const dataVariables: ReadonlyMap<string | undefined, 'root' | LoopVariable> = new Map([
  ['root', 'root'],
  ['index', 'index'],
  ['key', 'key'],
  ['first', 'first'],
  ['last', 'last'],
])

/**
 * Translates a source to the few statements that templates may have. Everything else is refused, so nothing else can
 * ever run.
 *
 * @throws TemplateFault
 */
export async function templateTree(source: string, pointer: TemplateMember): Promise<Body> {
  /** Names of the surrounding blocks with parameters, the innermost first. */
  let named: readonly (readonly string[])[] = []
  return bodyOf(await parseSource(source, pointer))

  function bodyOf(program: hbs.AST.Program | undefined): Body {
    // The library's types leave out which statements and expressions there are.
    return (program?.body ?? []).flatMap((node) => statementOf(node as StatementNode) ?? [])
  }

  function statementOf(node: StatementNode): Statement | undefined {
    switch (node.type) {
      case 'ContentStatement':
        return { kind: 'text', text: node.value }
      case 'CommentStatement':
        return undefined
      case 'MustacheStatement':
        return printed(node)
      case 'BlockStatement':
        return blockOf(node)
      case 'PartialStatement':
      case 'PartialBlockStatement':
        throw fault(node, 'partial', 'must not include other templates')
      default:
        throw fault(node, 'not-allowed', 'has a kind of tag that templates must not have')
    }
  }

  function printed(node: hbs.AST.MustacheStatement): Statement {
    if (!node.escaped) throw fault(node, 'unescaped-output', 'must not print without escaping')
    const { path, params } = node
    const isPlain = params.length === 0 && node.hash === undefined
    if (isPlain && isPath(path) && !isName(path, 'lookup', ...blockNames)) return { kind: 'print', value: pathOf(path) }
    return { kind: 'print', value: lookupOf(node) }
  }

  function blockOf(node: hbs.AST.BlockStatement): Statement {
    const { path, params, program, inverse } = node
    if (node.openStrip.open === undefined) throw fault(node, 'raw-block', 'must not have raw blocks')
    const kind = blockNames.find((name) => isPath(path) && isName(path, name))
    if (kind === undefined) throw fault(node, 'unknown-helper', 'may only have the blocks if, unless, each and with')
    const [operand] = params
    if (operand === undefined || params.length > 1 || node.hash !== undefined)
      throw fault(node, 'arguments', 'must give this block one value')
    const names = (program?.blockParams ?? []).map(nameIn(node))
    const isLoop = kind === 'each' || kind === 'with'
    if (names.length > (isLoop ? 2 : 0))
      throw fault(node, 'arguments', isLoop ? 'must name at most two parameters' : 'must not name parameters here')
    const value = expressionOf(operand as ExpressionNode)
    const hasParameters = names.length > 0
    const outer = named
    if (hasParameters) named = [names, ...outer]
    const body = bodyOf(program)
    named = outer
    const branches = { body, otherwise: bodyOf(inverse) }
    if (isLoop) return { kind, of: value, hasParameters, ...branches }
    return { kind: 'if', isNegated: kind === 'unless', condition: value, ...branches }
  }

  function expressionOf(node: ExpressionNode): Expression {
    switch (node.type) {
      case 'PathExpression':
        return pathOf(node)
      case 'SubExpression':
        return lookupOf(node)
      case 'StringLiteral':
      case 'NumberLiteral':
      case 'BooleanLiteral':
        return { kind: 'literal', value: node.value, text: JSON.stringify(node.value) }
      default:
        throw fault(node, 'not-allowed', 'must not have null or undefined')
    }
  }

  function lookupOf(node: hbs.AST.MustacheStatement | hbs.AST.SubExpression): Expression {
    const { path, params } = node
    if (!isPath(path) || !isName(path, 'lookup'))
      throw fault(node, 'unknown-helper', 'may only call lookup; if, unless, each and with are blocks')
    const [of, key] = params.map((param) => expressionOf(param as ExpressionNode))
    if (of === undefined || key === undefined || params.length > 2 || node.hash !== undefined)
      throw fault(node, 'arguments', 'must give lookup two values')
    return { kind: 'lookup', of, key, text: `lookup ${of.text} ${key.text}` }
  }

  function pathOf(node: hbs.AST.PathExpression): Expression {
    const parts = node.parts.map(nameIn(node))
    const [first = '', ...rest] = parts
    const path = { kind: 'path', up: node.depth, text: node.original } as const
    if (node.data) {
      const from = dataVariables.get(first)
      if (from === undefined)
        throw fault(node, 'path-not-allowed', 'may only use @root, @index, @key, @first and @last')
      return { ...path, from, parts: rest }
    }
    // A path that begins with `this`, `.` or `../` is never the name of a block parameter.
    const up = /^(?:\.|this\b)/.test(node.original) ? -1 : named.findIndex((names) => names.includes(first))
    if (up === -1) return { ...path, from: 'here', parts }
    return { ...path, from: named[up]?.[0] === first ? 'item' : 'place', up, parts: rest }
  }

  /** Names of prototypes have no meaning here, so their only use is an attack. */
  function nameIn(node: hbs.AST.Node) {
    return (name: unknown) => {
      if (typeof name !== 'string' || name in Object.prototype || name === 'prototype' || name.length > longestName)
        throw fault(node, 'path-not-allowed', 'must not use this name')
      return name
    }
  }

  function fault({ loc: { start } }: hbs.AST.Node, code: string, message: string): TemplateFault {
    return new TemplateFault(pointer, code, message, { line: start.line, column: start.column + 1 })
  }
}

const blockNames = ['if', 'unless', 'each', 'with'] as const

function isPath(node: hbs.AST.Expression): node is hbs.AST.PathExpression {
  return node.type === 'PathExpression'
}

/** `this.lookup` and `[lookup]` are variables. */
function isName({ original, data }: hbs.AST.PathExpression, ...names: readonly string[]): boolean {
  return !data && names.includes(original)
}
