/** The cause of an append. It becomes the metadata of every event of that append. */
export interface CommandContext {
  /** UUID. Event ids are v5(commandId, index): two appends of the same command are one append. */
  readonly commandId: string
  /** UUID shared by everything that one request caused. */
  readonly correlationId: string
  /** Id of the event or request that caused this command. */
  readonly causationId?: string | undefined
  readonly orgId?: string | undefined
  readonly clientId?: string | undefined
  readonly userId?: string | undefined
  readonly requestId?: string | undefined
  readonly traceparent?: string | undefined
}
