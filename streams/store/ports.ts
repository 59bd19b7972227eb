/** Names, codes and counts, never event data; a logger that keeps members by a list must have these on it. */
export interface StoreLogFields {
  readonly category?: string
  readonly subscription?: string
  readonly attempt?: number
  readonly reason?: string
}

/** The part of a pino logger that the store uses. */
export interface StoreLogger {
  warn(fields: StoreLogFields, message: string): void
  error(fields: StoreLogFields, message: string): void
}
