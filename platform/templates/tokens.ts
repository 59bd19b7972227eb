import { setImmediate } from 'node:timers/promises'
import Handlebars from 'handlebars'
import { TemplateFault, type TemplateMember } from './faults.ts'

declare global {
  // The library exports its parser, but its types leave it out.
  namespace Handlebars {
    const Parser: {
      readonly terminals_: Readonly<Record<number, string>>
      readonly lexer: {
        yy: object
        readonly matched: string
        readonly match: string
        setInput(source: string): void
        lex(): number
      }
    }
  }
}

const longestSource = 65_536
/** The parser takes about 5 microseconds for each, and cannot be interrupted. */
const mostTokens = 1_500
/** The lexer copies the source for each comment. */
const mostComments = 250
/** Blocks within blocks; an `else if` is one within its block. Parentheses within parentheses count alike. */
const deepest = 20

const opening: ReadonlySet<string | undefined> = new Set([
  'OPEN_BLOCK',
  'OPEN_INVERSE',
  'OPEN_RAW_BLOCK',
  'OPEN_PARTIAL_BLOCK',
])
const closing: ReadonlySet<string | undefined> = new Set(['OPEN_ENDBLOCK', 'END_RAW_BLOCK'])

/**
 * Parses a source. Its tokens are counted first: the time of the parser grows with depth and length together, up to 45
 * seconds for 64 KiB. The lexer alone needs some milliseconds. After each, other work of the process has its turn.
 *
 * @throws TemplateFault
 */
export async function parseSource(source: string, pointer: TemplateMember): Promise<hbs.AST.Program> {
  // An object would be taken as a tree that somebody else parsed. JSON can contain such an object.
  if (typeof source !== 'string') throw new TemplateFault(pointer, 'not-a-text', 'must be a text')
  if (Buffer.byteLength(source) > longestSource)
    throw new TemplateFault(pointer, 'too-large', 'has more than 64 KiB of source')
  try {
    requireParsable(source, pointer)
    await setImmediate()
    const program = Handlebars.parse(source)
    await setImmediate()
    return program
  } catch (error) {
    if (error instanceof TemplateFault) throw error
    // The library's message quotes the source.
    throw new TemplateFault(pointer, 'syntax', 'is not a well-formed template here', placeOfFailure(error, source))
  }
}

function requireParsable(source: string, pointer: TemplateMember): void {
  const { lexer, terminals_: names } = Handlebars.Parser
  lexer.setInput(source)
  lexer.yy = {}
  if (source.split(/\{\{~?!/).length - 1 > mostComments) throw tooComplex(source, pointer)
  /** For each open block, how deep its last branch is in it. */
  const blocks: number[] = []
  let depth = 0
  let parentheses = 0
  let tokens = 0
  for (let name = names[lexer.lex()]; name !== 'EOF'; name = names[lexer.lex()]) {
    tokens += 1
    if (name === 'OPEN_SEXPR') parentheses += 1
    if (name === 'CLOSE_SEXPR') parentheses -= 1
    if (opening.has(name)) blocks.push(0)
    if (name === 'OPEN_INVERSE_CHAIN') blocks.push((blocks.pop() ?? 0) + 1)
    if (opening.has(name) || name === 'OPEN_INVERSE_CHAIN') depth += 1
    if (closing.has(name)) depth -= 1 + (blocks.pop() ?? -1)
    if (tokens > mostTokens) throw tooComplex(source, pointer)
    if (depth > deepest || parentheses > deepest)
      throw new TemplateFault(pointer, 'too-deep', 'has more than 20 blocks within each other', placeOfLexer(source))
  }
}

function tooComplex(source: string, pointer: TemplateMember): TemplateFault {
  return new TemplateFault(pointer, 'too-complex', 'has too many tags, names or comments', placeOfLexer(source))
}

/** Where the lexer stands. It stands behind the token that the parser did not accept. */
function placeOfLexer(source: string) {
  const { matched, match } = Handlebars.Parser.lexer
  const before = source.slice(0, Math.max(0, matched.length - match.length)).split('\n')
  return { line: before.length, column: (before.at(-1)?.length ?? 0) + 1 }
}

/** An error about a whole tag contains its place. */
function placeOfFailure(error: unknown, source: string) {
  if (!(error instanceof Handlebars.Exception)) return placeOfLexer(source)
  const { lineNumber: line, column }: { lineNumber?: unknown; column?: unknown } = error
  return typeof line === 'number' && typeof column === 'number' ? { line, column: column + 1 } : placeOfLexer(source)
}
