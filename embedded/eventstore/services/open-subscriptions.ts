/** A catch-up subscription under way, as an operator sees it. */
export type OpenSubscription = {
  readonly id: string
  /** Name of the stream, or `$all`. */
  readonly stream: string
  readonly user: string
  readonly connectionName: string
  /** How far it has come: the last revision, or the position in `$all` up to which everything was considered; -1 before the first. */
  reached: number
}

/** The catch-up subscriptions that clients hold. */
export class OpenSubscriptions {
  private readonly subscriptions = new Set<OpenSubscription>()

  /** Counts a subscription among the open ones while `serve` runs. */
  async during(
    details: Omit<OpenSubscription, 'reached'>,
    serve: (subscription: OpenSubscription) => Promise<void>,
  ): Promise<void> {
    const subscription = { ...details, reached: -1 }
    this.subscriptions.add(subscription)
    try {
      await serve(subscription)
    } finally {
      this.subscriptions.delete(subscription)
    }
  }

  list(): OpenSubscription[] {
    return [...this.subscriptions]
  }
}
