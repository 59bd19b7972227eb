/** The member of a template that is at fault. */
export type TemplateMember = '/bodyTemplate' | '/subject'

interface Place {
  readonly line: number
  /** From 1. */
  readonly column: number
}

/** A template cannot be saved. The message contains nothing of its text. */
export class TemplateFault extends Error {
  override readonly name = 'TemplateFault'
  readonly isSafeToLog = true
  readonly pointer: TemplateMember
  readonly code: string
  readonly line: number
  readonly column: number

  constructor(
    pointer: TemplateMember,
    code: string,
    message: string,
    { line, column }: Place = { line: 1, column: 1 },
  ) {
    super(message)
    this.pointer = pointer
    this.code = code
    this.line = line
    this.column = column
  }
}

export type RenderFailure = 'missing-variable' | 'not-printable' | 'too-large' | 'too-many-steps' | 'control-character'

/** A template cannot be rendered with these variables. The detail names a variable, never its value. */
export class RenderFault extends Error {
  override readonly name = 'RenderFault'
  readonly isSafeToLog = true
  readonly code = 'template_render_failed'
  readonly failure: RenderFailure
  /** The path in the template that has no value; null for another failure. */
  readonly missing: string | null
  readonly errorDetail: string

  constructor(failure: RenderFailure, errorDetail: string, missing: string | null = null) {
    super(errorDetail)
    this.failure = failure
    this.missing = missing
    this.errorDetail = errorDetail
  }
}
