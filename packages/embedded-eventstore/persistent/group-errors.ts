/** The reason for refusing a request about a group. Each is one error of the protocol. */
export type GroupRefusal =
  | { kind: 'exists' }
  | { kind: 'missing' }
  | { kind: 'full' }
  | { kind: 'failed'; reason: string }
  /** The configuration of the groups cannot be read. */
  | { kind: 'not-ready' }

/** A refused request about a group. */
export class GroupError extends Error {
  readonly refusal: GroupRefusal
  readonly stream: string
  readonly group: string

  constructor(refusal: GroupRefusal, stream: string, group: string) {
    super(refusal.kind)
    this.refusal = refusal
    this.stream = stream
    this.group = group
  }
}
