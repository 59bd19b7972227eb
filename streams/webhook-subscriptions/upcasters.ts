/**
 * Version 1 of `WebhookSubscribed` knew HMAC signatures only. Its secret lies in the vault under the subscription's own
 * id, as the first one of a subscription still does.
 */
export const subscribedUpcasters = {
  1: (data: unknown) => {
    const subscribed: { subscriptionId?: unknown } = Object(data)
    return { ...subscribed, signatureSchemes: ['v1'], secretId: subscribed.subscriptionId, publicKey: null }
  },
}
