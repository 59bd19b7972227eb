/** Why the subsystem refuses a request about a group; each is one error of the protocol. */
export type GroupRefusal =
  | { kind: 'exists' }
  | { kind: 'missing' }
  | { kind: 'full' }
  | { kind: 'failed'; reason: string }
  /** The configuration of the groups cannot be read. */
  | { kind: 'not-ready' }

/** A request about a group that is refused. */
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
