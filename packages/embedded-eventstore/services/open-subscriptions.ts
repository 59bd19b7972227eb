/** An open catch-up subscription as operators see it. */
export type OpenSubscription = {
  readonly id: string
  /** Name of the stream, or `$all`. */
  readonly stream: string
  readonly user: string
  readonly connectionName: string
  /**
   * Progress: the last revision, or the position in `$all` up to which all events were examined. -1 before the first.
   */
  reached: number
}

/** The open catch-up subscriptions. */
export class OpenSubscriptions {
  private readonly subscriptions = new Set<OpenSubscription>()

  /** Lists a subscription as open while `serve` runs. */
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
