/** Version 1 of `WebhookDeliveryScheduled` told events only, none that a client asked for. */
export const scheduledUpcasters = {
  1: (data: unknown) => {
    const scheduled: { scheduledAt?: unknown } = Object(data)
    return { ...scheduled, origin: 'event', occurredAt: scheduled.scheduledAt, request: null }
  },
}

/** Version 1 of the failures did not count against an endpoint. */
export const failedUpcasters = { 1: (data: unknown) => ({ ...Object(data), endpoint: null }) }

/** Version 2 of `WebhookDeliveryAttemptFailed` always had a next attempt. */
export const attemptFailedUpcasters = { ...failedUpcasters, 2: (data: unknown) => data }

/** Version 1 of the redeliveries did not say which endpoint they were asked for. */
export const redeliveryUpcasters = { 1: (data: unknown) => ({ ...Object(data), endpointRevision: null }) }
